-- old nodes: may run
-- Indexes of the lists of runs and attempts, and of the audit. Nothing is written to a table while its indexes are made.
CREATE INDEX workflow_instance_by_workflow ON workflow_instance (workflow_code, (parent_instance_id IS NOT NULL), state, (-id));
CREATE INDEX workflow_instance_by_state ON workflow_instance ((parent_instance_id IS NULL), state, (-id));
CREATE INDEX workflow_instance_started ON workflow_instance ((id / 4096), started_at);
CREATE INDEX task_instance_failed ON task_instance (state, (-id))
    WHERE state IN ('FAILURE', 'KILL', 'PAUSE', 'NEED_FAULT_TOLERANCE', 'FORCED_SUCCESS');
CREATE INDEX audit_action ON audit (action, id);
CREATE INDEX audit_denied ON audit (id) WHERE outcome = 'DENIED';

INSERT INTO schema_version (version, name, old_nodes_may_run) VALUES (9, 'lists_of_long_histories', true);
