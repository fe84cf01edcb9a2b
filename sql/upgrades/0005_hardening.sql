-- old nodes: must stop
-- What testing from outside found: nothing that one row, one node or one person does stops the others.

-- No code writes SUBMITTED_SUCCESS and WAIT_TO_RUN, so they go. Rows that somebody wrote in them go on: a run takes its
-- turn if its workflow is serial, else it is paused and asked to resume; a task is queued if its run is driven, begins with
-- its run if that is to begin, and is over if that is. Old nodes write none of these states, and may run meanwhile.
DROP TRIGGER workflow_instance_moves_legally ON workflow_instance;
UPDATE workflow_instance SET state = 'SERIAL_WAIT', master_id = 0
WHERE state IN ('SUBMITTED_SUCCESS', 'WAIT_TO_RUN') AND execution_type <> 'PARALLEL';
WITH paused AS (
    UPDATE workflow_instance
    SET state = 'PAUSE', ended_at = clock_timestamp(), requested_state = NULL,
        reason = 'it was ' || state || ', a state that is no more; the upgrade asked for it to go on'
    WHERE state IN ('SUBMITTED_SUCCESS', 'WAIT_TO_RUN') RETURNING id
)
INSERT INTO command (type, workflow_instance_id, created_by)
SELECT 'RECOVER_SUSPENDED_PROCESS', id, 'upgrade' FROM paused ORDER BY id;
UPDATE task_instance SET state = 'QUEUED', queued_at = clock_timestamp()
WHERE state = 'SUBMITTED_SUCCESS' AND workflow_instance_id IN (
    SELECT id FROM workflow_instance WHERE state IN ('RUNNING_EXECUTION', 'READY_PAUSE', 'READY_STOP', 'FAILOVER'));
UPDATE task_instance SET state = 'PAUSE', ended_at = clock_timestamp(), reason = 'it had not begun'
WHERE state = 'SUBMITTED_SUCCESS'
  AND workflow_instance_id IN (SELECT id FROM workflow_instance WHERE state IN ('PAUSE', 'SERIAL_WAIT'));
UPDATE task_instance SET state = 'KILL', ended_at = clock_timestamp(), reason = 'its run had ended before it began'
WHERE state = 'SUBMITTED_SUCCESS';
ALTER TABLE workflow_instance DROP CONSTRAINT workflow_instance_state_check,
    ADD CONSTRAINT workflow_instance_state_check CHECK (state IN ('SERIAL_WAIT', 'RUNNING_EXECUTION', 'READY_PAUSE', 'READY_STOP', 'FAILOVER', 'SUCCESS', 'FAILURE', 'PAUSE', 'STOP'));
ALTER TABLE task_instance DROP CONSTRAINT task_instance_state_check,
    ADD CONSTRAINT task_instance_state_check CHECK (state IN ('DELAY_EXECUTION', 'QUEUED', 'DISPATCH', 'RUNNING_EXECUTION', 'SUCCESS', 'FAILURE', 'KILL', 'PAUSE', 'NEED_FAULT_TOLERANCE', 'FORCED_SUCCESS'));
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
        ('PAUSE', 'RUNNING_EXECUTION'),
        ('STOP', 'RUNNING_EXECUTION')))
    EXECUTE FUNCTION refuse_transition();
DROP INDEX command_calls;
CREATE INDEX command_calls ON command (workflow_code, workflow_instance_id)
    WHERE type = 'RECOVER_SERIAL_WAIT';

-- What is to be driven and has no owner is found and handed on, whoever wrote so; what waits in line has none either.
CREATE INDEX workflow_instance_ownerless ON workflow_instance (master_id)
    WHERE master_id <= 0 AND state IN ('RUNNING_EXECUTION', 'READY_PAUSE', 'READY_STOP', 'FAILOVER');

-- What comes back to the queue while its run is paused is held back: DISPATCH -> PAUSE.
DROP TRIGGER task_instance_moves_legally ON task_instance;
CREATE TRIGGER task_instance_moves_legally BEFORE UPDATE OF state ON task_instance FOR EACH ROW
    WHEN (OLD.state <> NEW.state AND (OLD.state, NEW.state) NOT IN (
        ('DELAY_EXECUTION', 'KILL'),
        ('DELAY_EXECUTION', 'PAUSE'),
        ('DELAY_EXECUTION', 'QUEUED'),
        ('QUEUED', 'DISPATCH'),
        ('QUEUED', 'FAILURE'),
        ('QUEUED', 'KILL'),
        ('QUEUED', 'PAUSE'),
        ('QUEUED', 'RUNNING_EXECUTION'),
        ('DISPATCH', 'FAILURE'),
        ('DISPATCH', 'KILL'),
        ('DISPATCH', 'NEED_FAULT_TOLERANCE'),
        ('DISPATCH', 'PAUSE'),
        ('DISPATCH', 'QUEUED'),
        ('DISPATCH', 'RUNNING_EXECUTION'),
        ('RUNNING_EXECUTION', 'FAILURE'),
        ('RUNNING_EXECUTION', 'KILL'),
        ('RUNNING_EXECUTION', 'NEED_FAULT_TOLERANCE'),
        ('RUNNING_EXECUTION', 'PAUSE'),
        ('RUNNING_EXECUTION', 'SUCCESS'),
        ('FAILURE', 'FORCED_SUCCESS'),
        ('KILL', 'FORCED_SUCCESS'),
        ('NEED_FAULT_TOLERANCE', 'FORCED_SUCCESS')))
    EXECUTE FUNCTION refuse_transition();

-- The line of a serial workflow is read at its head only, and moves on before anything begins: calls of its next run get
-- the rank of takeovers. A generated column cannot be changed, so it is made again, with its index.
DROP INDEX workflow_instance_in_line;
CREATE INDEX workflow_instance_live ON workflow_instance (workflow_code, id)
    WHERE (state IN ('SUCCESS', 'FAILURE', 'PAUSE', 'STOP', 'SERIAL_WAIT')) IS NOT TRUE;
DROP INDEX workflow_instance_waiting;
CREATE INDEX workflow_instance_waiting ON workflow_instance (workflow_code, id) WHERE state = 'SERIAL_WAIT';
CREATE INDEX workflow_instance_urgent ON workflow_instance (workflow_code, id)
    WHERE state = 'SERIAL_WAIT' AND execution_type = 'SERIAL_PRIORITY';
DROP INDEX command_claim;
ALTER TABLE command DROP COLUMN priority_rank;
ALTER TABLE command
    ADD COLUMN priority_rank        smallint NOT NULL GENERATED ALWAYS AS (CASE
                             WHEN type IN ('RECOVER_TOLERANCE_FAULT_PROCESS', 'RECOVER_SERIAL_WAIT', 'PAUSE', 'STOP') THEN -1
                             WHEN upper(priority) = 'HIGHEST' THEN 0 WHEN upper(priority) = 'HIGH' THEN 1
                             WHEN upper(priority) = 'LOW' THEN 3 WHEN upper(priority) = 'LOWEST' THEN 4 ELSE 2 END) STORED;
COMMENT ON COLUMN command.priority_rank IS 'Order of the claim. What was running and lost its master, what is to be halted, and whose turn has come, goes before what has not begun.';
CREATE INDEX command_claim ON command (priority_rank, id);

-- The times of a cluster are one truth: a node whose settings name others does not start.
CREATE TABLE cluster (
    only_one       boolean PRIMARY KEY DEFAULT true CHECK (only_one),
    timing         jsonb CHECK (jsonb_typeof(timing) = 'object'),
    registry_mark  text,
    registry_place text,
    mark           text
);
COMMENT ON TABLE cluster IS 'One row: what is the same for all nodes. Read when a node starts, never while it works.';
COMMENT ON COLUMN cluster.timing IS 'Seconds by name: the times by which all nodes live (docs/settings.md). Null before the first node; changed by shoal db timing.';
COMMENT ON COLUMN cluster.registry_mark IS 'The mark that the cluster''s registry carries. Null before the first node.';
COMMENT ON COLUMN cluster.registry_place IS 'Its address without user and password; "database" = this database.';
COMMENT ON COLUMN cluster.mark IS 'The mark that this database carries as a registry.';
INSERT INTO cluster DEFAULT VALUES;
-- Want of descriptors once switched schedules off as if their zone did not exist: they are computed again.
UPDATE schedule SET problem = NULL, next_fire_at = NULL
WHERE problem LIKE 'there is no time zone %' OR problem LIKE 'it cannot be reckoned (%Error: %';

-- Deaths of masters count against a run only if they came soon after the master had begun to drive it.
ALTER TABLE workflow_instance ADD COLUMN owned_since timestamptz;
COMMENT ON COLUMN workflow_instance.takeovers IS 'How many owners in a row were fenced soon after they had begun to drive it; at 3 it ends as FAILURE, so that a poisonous one does not walk through the cluster.';
COMMENT ON COLUMN workflow_instance.owned_since IS 'Since when its owner drives it; null = since it was made.';
-- A command of fewer than no deaths would be neither claimed nor tried apart.
ALTER TABLE command ADD CONSTRAINT command_deaths CHECK (deaths >= 0);
-- What a task asks of its child is told by a column that only nodes may write (sql/roles.sql), no longer by created_by.
ALTER TABLE command ADD COLUMN from_above boolean NOT NULL DEFAULT false;
COMMENT ON COLUMN command.from_above IS 'A task asks this of its child, or for it, and is told if nothing comes of it. Written by masters; who created_by names means nothing.';
UPDATE command SET from_above = true
WHERE created_by = 'sub-workflow';
-- Who a node is, is not where it is reached: two workers with one loopback address fenced each other.
ALTER TABLE node ADD COLUMN name text NOT NULL DEFAULT '';
COMMENT ON COLUMN node.name IS 'Who it is: two that live have not the same. The address only says where it is reached.';

-- Logs are read by signed requests only: each worker's life says its key.
CREATE TABLE log_key (
    node_id bigint PRIMARY KEY,
    key     text NOT NULL
);
COMMENT ON TABLE log_key IS 'With what requests for the logs of a worker''s life are signed. Only who may read logs reads it (sql/roles.sql).';

-- Of the attempts of a task one counts: the last, unless that is to run again.
UPDATE task_instance t SET flag = 'NO' FROM task_instance later
WHERE later.attempt > 1 AND later.workflow_instance_id = t.workflow_instance_id AND later.task_code = t.task_code
  AND later.attempt > t.attempt AND t.flag = 'YES';
COMMENT ON COLUMN task_instance.flag IS 'NO = counts no more: another attempt took its place, the task is to run again, or its workflow was repeated. At most one attempt of a task is YES.';
-- Of the attempts of a task one counts.
CREATE UNIQUE INDEX task_instance_valid ON task_instance (workflow_instance_id, task_code) WHERE flag = 'YES';
-- Whoever makes another attempt, by plain SQL too, takes the place of those before it: one attempt of a task counts.
CREATE FUNCTION supersede_attempts() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE task_instance SET flag = 'NO'
    WHERE workflow_instance_id = NEW.workflow_instance_id AND task_code = NEW.task_code AND flag = 'YES'
      AND attempt < NEW.attempt;
    RETURN NEW;
END $$;
CREATE TRIGGER task_instance_supersedes BEFORE INSERT ON task_instance FOR EACH ROW
    WHEN (NEW.attempt > 1 AND NEW.flag = 'YES') EXECUTE FUNCTION supersede_attempts();
-- DEPENDENT tasks that wait are walked over in stretches, so the index holds their whole order.
DROP INDEX task_instance_dependent;
CREATE INDEX task_instance_dependent ON task_instance (workflow_instance_id, id) WHERE state = 'RUNNING_EXECUTION' AND task_type = 'DEPENDENT';

-- The times of a schedule count from when it was made or changed, whenever a master sees it first.
ALTER TABLE schedule ADD COLUMN counts_from timestamptz NOT NULL DEFAULT clock_timestamp();
UPDATE schedule SET counts_from = updated_at;
COMMENT ON COLUMN schedule.counts_from IS 'Since when its times are promised: when it was made, or when somebody last changed when it fires.';
CREATE FUNCTION begin_schedule_now() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.counts_from := clock_timestamp();
    RETURN NEW;
END $$;
CREATE TRIGGER schedule_begins_now BEFORE UPDATE OF crontab, time_zone, start_time, end_time, state, next_fire_at, problem ON schedule
    FOR EACH ROW WHEN (
        (NEW.crontab, NEW.time_zone, NEW.start_time, NEW.end_time, NEW.state)
            IS DISTINCT FROM (OLD.crontab, OLD.time_zone, OLD.start_time, OLD.end_time, OLD.state)
        OR (NEW.next_fire_at IS NULL AND OLD.next_fire_at IS NOT NULL AND NEW.problem IS NULL)
        OR (NEW.problem IS NULL AND OLD.problem IS NOT NULL))
    EXECUTE FUNCTION begin_schedule_now();

-- A limit on waiting for a worker, and one on the length of a run that counts from when it began to run.
ALTER TABLE task_instance ADD COLUMN dispatch_timeout_s double precision CHECK (dispatch_timeout_s > 0);
ALTER TABLE task_instance ADD COLUMN dispatch_by timestamptz;
COMMENT ON COLUMN task_instance.dispatch_timeout_s IS 'Seconds in the queue; null = no limit.';
COMMENT ON COLUMN task_instance.dispatch_by IS 'Until when a worker must have taken it, counted from when it was queued; null = no limit.';
CREATE INDEX task_instance_undispatched ON task_instance (dispatch_by) WHERE state = 'QUEUED' AND dispatch_by IS NOT NULL;
ALTER TABLE workflow_instance ADD COLUMN running_since timestamptz;
UPDATE workflow_instance SET running_since = started_at WHERE ended_at IS NULL;
ALTER TABLE workflow_instance ALTER COLUMN running_since SET DEFAULT clock_timestamp();
COMMENT ON COLUMN workflow_instance.running_since IS 'From when its timeout counts: its start, or when a command last let it go on.';

-- A master finds its own events, however many others have not read theirs.
ALTER TABLE task_event ADD COLUMN owner bigint;
UPDATE task_event e SET owner = coalesce((SELECT master_id FROM workflow_instance i WHERE i.id = e.workflow_instance_id), 0);
COMMENT ON COLUMN task_event.owner IS 'The epoch of the master that owned its run when it was written: where to look for it, and no more.';
-- Statements: what a master has to hear of; what is on its way to a run.
CREATE INDEX task_event_owner ON task_event (owner, id);
CREATE INDEX task_event_run ON task_event (workflow_instance_id);
-- Whoever says not to whom an event goes has it addressed. The master that owns the run then may have been replaced since:
-- it is only where to look, and what is addressed to nobody who lives is addressed again by any master.
CREATE FUNCTION address_event() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.owner := coalesce((SELECT master_id FROM workflow_instance WHERE id = NEW.workflow_instance_id), 0);
    RETURN NEW;
END $$;
CREATE TRIGGER task_event_is_addressed BEFORE INSERT ON task_event FOR EACH ROW WHEN (NEW.owner IS NULL)
    EXECUTE FUNCTION address_event();

-- Nodes that ended long ago are forgotten.
CREATE INDEX node_ended ON node (ended_at) WHERE state IN ('LEFT', 'FENCED');

-- Nodes read with each beat whether a schema is recorded under which they may not go on.
ALTER TABLE schema_version ADD COLUMN old_nodes_may_run boolean NOT NULL DEFAULT false;
COMMENT ON COLUMN schema_version.old_nodes_may_run IS 'Whether nodes that know only older versions may go on; if not, they stop at their next beat.';
INSERT INTO schema_version (version, name, old_nodes_may_run) VALUES (5, 'hardening', false);
