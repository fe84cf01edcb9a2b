-- old nodes: may run
-- Indexes of the lists of runs and attempts, and of the audit. Nothing is written to these tables while indexes
-- are made, so of a large history make them before, with CREATE INDEX CONCURRENTLY: docs/cluster.md, "Upgrades".
-- All tables are locked first: otherwise one stays locked during a wait for the next, and what was made is lost with it.
LOCK TABLE task_instance, workflow_instance, audit IN SHARE MODE;
DO $$
DECLARE unfinished text;
BEGIN
    SELECT string_agg(indexrelid::regclass::text, ', ') INTO unfinished FROM pg_index
    WHERE NOT indisvalid AND indrelid IN ('task_instance'::regclass, 'workflow_instance'::regclass, 'audit'::regclass);
    IF unfinished IS NOT NULL THEN
        RAISE EXCEPTION 'CREATE INDEX CONCURRENTLY did not finish these indexes: %; drop them and make them again', unfinished;
    END IF;
END $$;
CREATE INDEX IF NOT EXISTS workflow_instance_by_workflow ON workflow_instance (workflow_code, (parent_instance_id IS NOT NULL), state, (-id));
CREATE INDEX IF NOT EXISTS workflow_instance_by_state ON workflow_instance ((parent_instance_id IS NULL), state, (-id));
CREATE INDEX IF NOT EXISTS workflow_instance_started ON workflow_instance ((id / 4096), started_at);
CREATE INDEX IF NOT EXISTS task_instance_failed ON task_instance (state, (-id))
    WHERE state IN ('FAILURE', 'KILL', 'PAUSE', 'NEED_FAULT_TOLERANCE', 'FORCED_SUCCESS');
CREATE INDEX IF NOT EXISTS audit_action ON audit (action, id);
CREATE INDEX IF NOT EXISTS audit_denied ON audit (id) WHERE outcome = 'DENIED';

INSERT INTO schema_version (version, name, old_nodes_may_run) VALUES (9, 'lists_of_long_histories', true);
