-- old nodes: may run
-- Lines by key: a serial workflow may have one line for each value of its serial_key. A master of the former version refuses
-- a workflow with that field, so write it into one when all masters are new.
-- Of a large history make the column and the indexes of workflow_instance before: docs/cluster.md, "Upgrades".
LOCK TABLE command IN SHARE MODE;
CREATE INDEX command_start ON command (workflow_code, (-id))
    WHERE type IN ('START_PROCESS', 'START_CURRENT_TASK_PROCESS', 'SCHEDULER', 'COMPLEMENT_DATA');
LOCK TABLE workflow_instance IN ACCESS EXCLUSIVE MODE;
DO $$
BEGIN
    IF EXISTS (SELECT FROM pg_index WHERE NOT indisvalid AND indrelid = 'workflow_instance'::regclass) THEN
        RAISE EXCEPTION 'CREATE INDEX CONCURRENTLY did not finish an index of workflow_instance; drop it and make it again';
    END IF;
END $$;
ALTER TABLE workflow_instance ADD COLUMN IF NOT EXISTS serial_key text NOT NULL DEFAULT '';
COMMENT ON COLUMN workflow_instance.serial_key IS 'Of a serial workflow: in which of its lines the run is; empty = in the one of the runs without a key.';
CREATE INDEX IF NOT EXISTS workflow_instance_line ON workflow_instance (workflow_code, serial_key, id)
    WHERE (state IN ('SUCCESS', 'FAILURE', 'PAUSE', 'STOP', 'SERIAL_WAIT')) IS NOT TRUE;
CREATE INDEX IF NOT EXISTS workflow_instance_turn ON workflow_instance (workflow_code, serial_key, (CASE WHEN serial_key = '' THEN id ELSE command_id END))
    WHERE state = 'SERIAL_WAIT';
CREATE INDEX IF NOT EXISTS workflow_instance_urgent_turn ON workflow_instance (workflow_code, serial_key, (CASE WHEN serial_key = '' THEN id ELSE command_id END))
    WHERE state = 'SERIAL_WAIT' AND execution_type = 'SERIAL_PRIORITY';
DROP INDEX workflow_instance_live;
DROP INDEX workflow_instance_waiting;
DROP INDEX workflow_instance_urgent;

INSERT INTO schema_version (version, name, old_nodes_may_run) VALUES (14, 'lines_by_key', true);
