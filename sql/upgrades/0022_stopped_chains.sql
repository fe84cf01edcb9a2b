-- old nodes: may run
-- An index of the refused commands by which chains of backfills stopped: lists of runs show those at their top.
CREATE INDEX error_command_chain ON error_command (command_id)
    WHERE type = 'COMPLEMENT_DATA' AND created_by = 'backfill';

INSERT INTO schema_version (version, name, old_nodes_may_run) VALUES (22, 'stopped_chains', true);
