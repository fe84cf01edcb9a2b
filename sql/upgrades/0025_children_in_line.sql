-- old nodes: may run
-- A child that its parent lets go on while another run of its line is before it waits for its turn. (A master of the
-- former version that calls it starts the runs below it again instead of letting them go on.)
ALTER TABLE workflow_instance ADD COLUMN resumes integer[];
COMMENT ON COLUMN workflow_instance.resumes IS 'Of one that was let go on and waits for its turn: the tasks whose children go on then; null = none.';
-- Old runs stay while a command waits that lets them go on.
DROP INDEX command_resume;
CREATE INDEX command_resume ON command (workflow_instance_id)
    WHERE type IN ('RECOVER_SUSPENDED_PROCESS', 'START_FAILURE_TASK_PROCESS', 'REPEAT_RUNNING', 'EXECUTE_TASK');
DROP TRIGGER workflow_instance_moves_legally ON workflow_instance;
CREATE TRIGGER workflow_instance_moves_legally BEFORE UPDATE OF state ON workflow_instance FOR EACH ROW
    WHEN (OLD.state <> NEW.state AND (OLD.state, NEW.state) NOT IN (
        ('SERIAL_WAIT', 'PAUSE'),
        ('SERIAL_WAIT', 'RUNNING_EXECUTION'),
        ('SERIAL_WAIT', 'STOP'),
        ('RUNNING_EXECUTION', 'FAILOVER'),
        ('RUNNING_EXECUTION', 'FAILURE'),
        ('RUNNING_EXECUTION', 'READY_PAUSE'),
        ('RUNNING_EXECUTION', 'READY_STOP'),
        ('RUNNING_EXECUTION', 'SUCCESS'),
        ('READY_PAUSE', 'FAILOVER'),
        ('READY_PAUSE', 'FAILURE'),
        ('READY_PAUSE', 'PAUSE'),
        ('READY_PAUSE', 'READY_STOP'),
        ('READY_PAUSE', 'SUCCESS'),
        ('READY_STOP', 'FAILOVER'),
        ('READY_STOP', 'FAILURE'),
        ('READY_STOP', 'STOP'),
        ('READY_STOP', 'SUCCESS'),
        ('FAILOVER', 'FAILURE'),
        ('FAILOVER', 'READY_PAUSE'),
        ('FAILOVER', 'READY_STOP'),
        ('FAILOVER', 'RUNNING_EXECUTION'),
        ('SUCCESS', 'RUNNING_EXECUTION'),
        ('FAILURE', 'RUNNING_EXECUTION'),
        ('FAILURE', 'SERIAL_WAIT'),
        ('PAUSE', 'RUNNING_EXECUTION'),
        ('PAUSE', 'SERIAL_WAIT'),
        ('STOP', 'RUNNING_EXECUTION'),
        ('STOP', 'SERIAL_WAIT')))
    EXECUTE FUNCTION refuse_transition();

INSERT INTO schema_version (version, name, old_nodes_may_run) VALUES (25, 'children_in_line', true);
