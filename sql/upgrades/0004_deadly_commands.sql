-- A command that ends the process of whoever handles it is set apart, tried alone and given up in the end.

ALTER TABLE command ADD COLUMN deaths smallint NOT NULL DEFAULT 0;
ALTER TABLE command ADD COLUMN tried_by bigint;
COMMENT ON COLUMN command.deaths IS 'How many masters died when they may have been at it; above 0 it is tried apart. Written by masters.';
COMMENT ON COLUMN command.tried_by IS 'The epoch of the master that tries it apart, whose death would count.';
CREATE INDEX command_deadly ON command (deaths, id) WHERE deaths > 0;
