-- old nodes: may run
-- Masters and workers that are to take nothing new. Nodes of the former version do not read it, and are never asked to.
CREATE TABLE drain (
    kind     text NOT NULL CHECK (kind IN ('MASTER', 'WORKER')),
    name     text NOT NULL CHECK (name <> ''),
    asked_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    asked_by text NOT NULL DEFAULT CURRENT_USER,
    id       bigint GENERATED ALWAYS AS IDENTITY,
    PRIMARY KEY (kind, name)
);
COMMENT ON TABLE drain IS 'Which masters and workers are to take nothing new, by name: for each life under that name, until the row is deleted.';
COMMENT ON COLUMN drain.id IS 'What the node confirms in its heartbeat: the confirmation of a former drain is none of this one.';

INSERT INTO schema_version (version, name, old_nodes_may_run) VALUES (12, 'drains', true);
