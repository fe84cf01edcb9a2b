-- old nodes: may run
-- An index of the starts of runs in wide blocks of ids, so that a list of a time finds its block in a long history.
-- Of a large history make it before, with CREATE INDEX CONCURRENTLY: docs/cluster.md, "Upgrades".
LOCK TABLE workflow_instance IN SHARE MODE;
DO $$
BEGIN
    IF EXISTS (SELECT FROM pg_index WHERE NOT indisvalid AND indrelid = 'workflow_instance'::regclass) THEN
        RAISE EXCEPTION 'CREATE INDEX CONCURRENTLY did not finish an index of workflow_instance; drop it and make it again';
    END IF;
END $$;
CREATE INDEX IF NOT EXISTS workflow_instance_started_wide ON workflow_instance ((id / 65536), started_at);

INSERT INTO schema_version (version, name, old_nodes_may_run) VALUES (18, 'starts_in_wide_blocks', true);
