-- What testing from outside found: nothing that one row, one node or one person does stops the others.

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
