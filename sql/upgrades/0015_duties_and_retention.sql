-- old nodes: may run
-- What one master does once in a while for the whole cluster. Masters of the former version know nothing of it.
CREATE TABLE duty (
    name           text PRIMARY KEY CHECK (name <> ''),
    every_s        double precision NOT NULL CONSTRAINT duty_every CHECK (every_s >= 1 AND every_s <= 31536000),
    due_at         timestamptz NOT NULL DEFAULT clock_timestamp() CONSTRAINT duty_due CHECK (due_at BETWEEN '2000-01-01' AND '9000-01-01'),
    holder         bigint,
    free_at        timestamptz NOT NULL DEFAULT '-infinity',
    began_at       timestamptz CONSTRAINT duty_began CHECK (began_at BETWEEN '2000-01-01' AND '9000-01-01'),
    steps          integer NOT NULL DEFAULT 0,
    progress       jsonb NOT NULL DEFAULT '{}' CHECK (jsonb_typeof(progress) = 'object'),
    failures       integer NOT NULL DEFAULT 0,
    error          text,
    error_at       timestamptz CONSTRAINT duty_failed CHECK (error_at BETWEEN '2000-01-01' AND '9000-01-01')
);
COMMENT ON TABLE duty IS 'What is done once in a while for the whole cluster, by one master, whose turn it is by slot, or by any if it is overdue (docs/duties.md).';
COMMENT ON COLUMN duty.every_s IS 'The length of a period in seconds.';
COMMENT ON COLUMN duty.due_at IS 'When the period begins for which it is to be done next.';
COMMENT ON COLUMN duty.holder IS 'The epoch of the master that did the last step, which goes on with the next one; null = nobody is at it.';
COMMENT ON COLUMN duty.free_at IS 'Until then only its holder does the next step, if that lives; without a holder nobody does: it failed.';
COMMENT ON COLUMN duty.began_at IS 'When the first step for this period was done; null = none was yet.';
COMMENT ON COLUMN duty.progress IS 'What the steps before the next one found and did; empty before the first.';
COMMENT ON COLUMN duty.failures IS 'How many steps failed since one last succeeded.';
COMMENT ON COLUMN duty.error IS 'Why its last failure failed, in a sentence; null = none was recorded.';

CREATE TABLE duty_done (
    name       text NOT NULL,
    due_at     timestamptz NOT NULL,
    node_id    bigint NOT NULL,
    node_name  text NOT NULL,
    began_at   timestamptz NOT NULL,
    ended_at   timestamptz NOT NULL DEFAULT clock_timestamp(),
    steps      integer NOT NULL,
    late       boolean NOT NULL,
    is_fine    boolean NOT NULL,
    result     text NOT NULL,
    PRIMARY KEY (name, due_at),
    CONSTRAINT duty_done_times CHECK (due_at BETWEEN '2000-01-01' AND '9000-01-01' AND began_at BETWEEN '2000-01-01' AND '9000-01-01'
                                      AND ended_at BETWEEN '2000-01-01' AND '9000-01-01')
);
COMMENT ON TABLE duty_done IS 'The duties that were done in the last days: one row for each period, which its primary key ensures. Written by the transaction of the last step.';
COMMENT ON COLUMN duty_done.due_at IS 'The period: when the duty became due.';
COMMENT ON COLUMN duty_done.node_id IS 'The epoch of the master that did the last step.';
COMMENT ON COLUMN duty_done.late IS 'Whether another than the master whose turn it was did the last step, since it was overdue.';
COMMENT ON COLUMN duty_done.is_fine IS 'false = a check found something; `result` says what.';
COMMENT ON COLUMN duty_done.result IS 'What was done or found, in a sentence.';
-- Statement: what is old.
CREATE INDEX duty_done_ended ON duty_done (ended_at);

-- How long what has ended is kept.
ALTER TABLE project ADD COLUMN kept_days integer CONSTRAINT project_kept_days CHECK (kept_days BETWEEN 0 AND 36500);
COMMENT ON COLUMN project.kept_days IS 'For how many days its ended runs are kept; 0 = for ever, null = as long as the masters'' settings say.';

CREATE TABLE history_floor (
    step       integer NOT NULL CHECK (step > 0),
    residue    integer NOT NULL CHECK (residue >= 0),
    command_id bigint NOT NULL CHECK (command_id > 0),
    PRIMARY KEY (step, residue)
);
COMMENT ON TABLE history_floor IS 'Up to which id rows of command_history were deleted: a command with such an id that has no row was handled before (docs/retention.md).';
COMMENT ON COLUMN history_floor.step IS 'The stride of the ids that this database generated then; 1 unless databases replicate each other.';

CREATE FUNCTION delete_old_audit(after_id bigint, kept_days integer, read_max integer,
                                 OUT deleted bigint, OUT last_id bigint, OUT is_over boolean)
LANGUAGE plpgsql SECURITY DEFINER AS $$
BEGIN
    WITH walked AS MATERIALIZED (
        SELECT a.id, a.at, coalesce(p.kept_days, delete_old_audit.kept_days) AS days
        FROM audit a LEFT JOIN project p ON p.name = a.project
        WHERE a.id > after_id ORDER BY a.id LIMIT read_max
    ), gone AS (
        DELETE FROM audit WHERE id = ANY(ARRAY(
            SELECT w.id FROM walked w
            WHERE w.days > 0 AND w.at < clock_timestamp() - make_interval(days => greatest(w.days, 90))))
        RETURNING id
    )
    SELECT (SELECT count(*) FROM gone), coalesce((SELECT max(w.id) FROM walked w), after_id),
           (SELECT count(*) FROM walked) < read_max
               OR (SELECT min(w.at) FROM walked w) > clock_timestamp() - interval '90 days'
    INTO deleted, last_id, is_over;
END $$;
COMMENT ON FUNCTION delete_old_audit IS 'Deletes the audit rows after an id whose time is over, 90 days at least: for masters, which have no right on the table.';
REVOKE ALL ON FUNCTION delete_old_audit FROM PUBLIC;
DO $$ BEGIN EXECUTE format('ALTER FUNCTION delete_old_audit SET search_path TO %I, pg_temp', current_schema()); END $$;

INSERT INTO schema_version (version, name, old_nodes_may_run) VALUES (15, 'duties_and_retention', true);
