-- old nodes: may run
-- Copies of logs that outlive their workers: which there are, and how far the workers are.
CREATE TABLE log_store (
    place       text PRIMARY KEY CHECK (place <> ''),
    mark        uuid NOT NULL DEFAULT gen_random_uuid(),
    marked_at   timestamptz,
    walked_to   text NOT NULL DEFAULT '',
    walk_due_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    walk_began  timestamptz
);
COMMENT ON TABLE log_store IS 'The stores into which workers copy logs (docs/operations/logs.md), usually one. Who cleans one up holds its row by compare-and-set.';
COMMENT ON COLUMN log_store.mark IS 'What a file in the store says, so that an empty mount point or the store of another cluster is not taken for it.';
COMMENT ON COLUMN log_store.marked_at IS 'Since when the store has its mark; null = it is to be put there.';
COMMENT ON COLUMN log_store.walked_to IS 'The last copy that was checked for a run that is gone; empty = a new walk begins.';
COMMENT ON COLUMN log_store.walk_due_at IS 'When the next step of the walk may be done, by any worker.';
COMMENT ON COLUMN log_store.walk_began IS 'When the walk began; null = it has not.';

CREATE TABLE stored_log (
    task_instance_id bigint PRIMARY KEY,
    stored_at        timestamptz NOT NULL DEFAULT clock_timestamp(),
    size             bigint CHECK (size >= 0),
    first_byte       bigint CHECK (first_byte > 0 AND first_byte <= size)
);
COMMENT ON TABLE stored_log IS 'The attempts whose logs are in the log store; of others only their workers have them.';
COMMENT ON COLUMN stored_log.size IS 'The end of the log in bytes; 0 = nothing was in it, null = there was none: neither has a copy.';
COMMENT ON COLUMN stored_log.first_byte IS 'Where what was left of it begins, since its oldest bytes were discarded; null = 0.';

CREATE TABLE log_copying (
    node_id       bigint PRIMARY KEY,
    waiting       bigint NOT NULL DEFAULT 0 CHECK (waiting >= 0),
    failing_since timestamptz,
    reason        text,
    at            timestamptz NOT NULL DEFAULT clock_timestamp(),
    CHECK ((failing_since IS NULL) = (reason IS NULL))
);
COMMENT ON TABLE log_copying IS 'How far each worker is with its copies of logs, as it last said.';
COMMENT ON COLUMN log_copying.waiting IS 'How many logs of ended attempts only this worker has, as far as it knows.';
COMMENT ON COLUMN log_copying.failing_since IS 'Since when no log could be copied, and why; null = none failed.';

INSERT INTO schema_version (version, name, old_nodes_may_run) VALUES (21, 'log_store', true);
