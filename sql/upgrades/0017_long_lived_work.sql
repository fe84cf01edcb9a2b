-- old nodes: may run
-- Streams: tasks that run until they are stopped. A master of the former version refuses a workflow with that field, and a
-- worker of the former version would run one as any other task, so write it into a workflow when all nodes are new.
-- A stream may be started again for ever, so the numbers of attempts become larger: this rewrites task_instance, which takes
-- some seconds for each million attempts and stops all work meanwhile.
DROP TRIGGER task_instance_supersedes ON task_instance;
ALTER TABLE task_instance
    ALTER COLUMN attempt TYPE integer,
    ADD COLUMN stream   jsonb CHECK (jsonb_typeof(stream) = 'object'),
    ADD COLUMN ready_at timestamptz,
    ADD COLUMN handover text;
COMMENT ON COLUMN task_instance.stream IS 'JSON object: of a task that runs until it is stopped, how its worker finds out whether it is ready; null = another task.';
COMMENT ON COLUMN task_instance.ready_at IS 'Of a stream with a readiness probe: since when it is ready; null = it is not.';
COMMENT ON COLUMN task_instance.handover IS 'Why its worker is to end this attempt of a stream as PAUSE, so that another follows, in words; null = it is to run.';
CREATE TRIGGER task_instance_supersedes BEFORE INSERT ON task_instance FOR EACH ROW
    WHEN (NEW.attempt > 1 AND NEW.flag = 'YES') EXECUTE FUNCTION supersede_attempts();
CREATE INDEX task_instance_stream ON task_instance (worker_group, state, worker_id)
    WHERE stream IS NOT NULL AND state IN ('QUEUED', 'DISPATCH', 'RUNNING_EXECUTION');
ALTER TABLE task_event ALTER COLUMN attempt TYPE integer;

CREATE TABLE stream_restart (
    workflow_instance_id bigint NOT NULL,
    task_code            integer NOT NULL,
    asked_at             timestamptz NOT NULL DEFAULT clock_timestamp(),
    asked_by             text NOT NULL DEFAULT session_user,
    begun_at             timestamptz,
    ended_attempt        integer,
    PRIMARY KEY (workflow_instance_id, task_code)
);
COMMENT ON TABLE stream_restart IS 'Streams that are to be restarted, those of a run one after the other. A master deletes a row when its stream is ready again.';
COMMENT ON COLUMN stream_restart.begun_at IS 'When its turn came; null = it waits for the others of its run.';
COMMENT ON COLUMN stream_restart.ended_attempt IS 'The attempt that was ended: a later one is to become ready.';

CREATE TABLE rebalance (
    worker_group text PRIMARY KEY CHECK (worker_group <> ''),
    asked_at     timestamptz NOT NULL DEFAULT clock_timestamp(),
    asked_by     text NOT NULL DEFAULT session_user
);
COMMENT ON TABLE rebalance IS 'Worker groups whose streams are to be spread evenly, a few at a time. A master deletes a row when they are.';

INSERT INTO schema_version (version, name, old_nodes_may_run) VALUES (17, 'long_lived_work', true);
