-- Why a run waits is asked of all that run, now and then: the children that are asked for have an index.

CREATE INDEX command_child ON command (left(split_part(parent, '/', 1), 20)) WHERE parent IS NOT NULL;
