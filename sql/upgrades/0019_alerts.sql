-- old nodes: may run
-- Alerts: what a person is to be notified of. Triggers write those of ends, timeouts and schedules, so that those of old
-- nodes count too, and so that masters and workers need no new rights before `shoal db roles` has run again.
CREATE TABLE alert_channel (
    id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY CHECK (id > 0),
    name        text NOT NULL CONSTRAINT alert_channel_name UNIQUE CHECK (name <> ''),
    kind        text NOT NULL CHECK (kind <> ''),
    url         bytea NOT NULL,
    key_id      text NOT NULL,
    description text NOT NULL DEFAULT '',
    enabled     boolean NOT NULL DEFAULT true,
    version     integer NOT NULL DEFAULT 1 CHECK (version > 0),
    updated_at  timestamptz NOT NULL DEFAULT clock_timestamp(),
    updated_by  text NOT NULL DEFAULT session_user
);
COMMENT ON TABLE alert_channel IS 'Where alerts are sent to: a mailbox, a chat, a webhook.';
COMMENT ON COLUMN alert_channel.kind IS 'The scheme of its URL, such as mailto: all of it that may be shown.';
COMMENT ON COLUMN alert_channel.url IS 'An apprise URL, encrypted.';
COMMENT ON COLUMN alert_channel.key_id IS 'Which key encrypted it: a fingerprint, so that a missing key can be named.';
COMMENT ON COLUMN alert_channel.version IS 'Raised by each change: whoever changes it says which version was seen.';

CREATE TABLE alert_group (
    id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY CHECK (id > 0),
    name        text NOT NULL CONSTRAINT alert_group_name UNIQUE CHECK (name <> ''),
    description text NOT NULL DEFAULT '',
    version     integer NOT NULL DEFAULT 1 CHECK (version > 0),
    updated_at  timestamptz NOT NULL DEFAULT clock_timestamp(),
    updated_by  text NOT NULL DEFAULT session_user
);
COMMENT ON TABLE alert_group IS 'A named set of channels: what workflows, schedules and rules name. "default" gets what concerns the cluster, and what names none.';
COMMENT ON COLUMN alert_group.version IS 'Raised by each change: whoever changes it says which version was seen.';

CREATE TABLE alert_group_channel (
    group_id   bigint NOT NULL REFERENCES alert_group (id) ON DELETE CASCADE,
    channel_id bigint NOT NULL REFERENCES alert_channel (id) ON DELETE CASCADE,
    PRIMARY KEY (group_id, channel_id)
);
COMMENT ON TABLE alert_group_channel IS 'Which channels belong to which alert groups.';
-- Statement: the groups of a channel.
CREATE INDEX alert_group_channel_channel ON alert_group_channel (channel_id);

CREATE TABLE alert_rule (
    id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY CHECK (id > 0),
    project    text NOT NULL CHECK (project <> ''),
    name       text NOT NULL CHECK (name <> ''),
    text       text NOT NULL CONSTRAINT alert_rule_size CHECK (octet_length(text) <= 2000),
    enabled    boolean NOT NULL DEFAULT true,
    problem    text,
    version    integer NOT NULL DEFAULT 1 CHECK (version > 0),
    updated_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    updated_by text NOT NULL DEFAULT session_user,
    CONSTRAINT alert_rule_name UNIQUE (project, name)
);
COMMENT ON TABLE alert_rule IS 'A rule in words, of a project: when which alert group is notified (docs/operations/alerts.md).';
COMMENT ON COLUMN alert_rule.text IS 'The rule as it was written, such as: any run of load fails -> group data.';
COMMENT ON COLUMN alert_rule.problem IS 'Why it raises nothing, in a sentence: it cannot be read, or there is no such workflow; null = it works. Written by masters.';
COMMENT ON COLUMN alert_rule.version IS 'Raised by each change: whoever changes it says which version was seen.';
COMMENT ON COLUMN alert_rule.updated_at IS 'Since when it applies as it is now: what was before raises nothing.';

CREATE TABLE alert_rule_state (
    rule_id       bigint NOT NULL REFERENCES alert_rule (id) ON DELETE CASCADE,
    workflow_code bigint NOT NULL,
    failures      integer NOT NULL DEFAULT 0,
    deadline      timestamptz,
    PRIMARY KEY (rule_id, workflow_code)
);
COMMENT ON TABLE alert_rule_state IS 'What a rule has seen of a workflow.';
COMMENT ON COLUMN alert_rule_state.failures IS 'How many runs have failed since one last succeeded.';
COMMENT ON COLUMN alert_rule_state.deadline IS 'The last time of the day for which it was checked; null = none was yet.';

-- Who changes the words of a rule, or enables it again, by plain SQL too, has it apply from now on.
CREATE FUNCTION begin_alert_rule_now() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
BEGIN
    DELETE FROM alert_rule_state WHERE rule_id = NEW.id;
    NEW.updated_at := clock_timestamp();
    NEW.problem := NULL;
    RETURN NEW;
END $$;
CREATE TRIGGER alert_rule_begins_now BEFORE UPDATE OF project, text, enabled ON alert_rule FOR EACH ROW
    WHEN ((NEW.project, NEW.text, NEW.enabled) IS DISTINCT FROM (OLD.project, OLD.text, OLD.enabled))
    EXECUTE FUNCTION begin_alert_rule_now();

CREATE TABLE alert_silence (
    id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY CHECK (id > 0),
    starts_at  timestamptz NOT NULL DEFAULT clock_timestamp(),
    ends_at    timestamptz NOT NULL,
    project    text,
    workflow   text,
    kind       text,
    reason     text NOT NULL DEFAULT '',
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    created_by text NOT NULL DEFAULT session_user,
    CONSTRAINT alert_silence_times CHECK (starts_at < ends_at)
);
COMMENT ON TABLE alert_silence IS 'A time in which alerts that match are kept and not sent.';
COMMENT ON COLUMN alert_silence.project IS 'Only alerts of this project; null = of all, and of the cluster. So also workflow and kind.';

CREATE TABLE alert (
    id                   bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY CHECK (id > 0),
    created_at           timestamptz NOT NULL DEFAULT clock_timestamp(),
    kind                 text NOT NULL CHECK (kind IN ('RUN_ENDED', 'TASK_TIMEOUT', 'RUN_TIMEOUT', 'FAILOVER', 'SCHEDULE_MISSED', 'SCHEDULE_RESTS', 'GROUP_WITHOUT_WORKERS', 'ERROR_COMMANDS', 'POOL_STANDS', 'QUEUE_STANDS', 'RULE', 'RECOVERED', 'SQL_RESULT', 'TEST')),
    severity             text NOT NULL CHECK (severity IN ('INFO', 'WARNING', 'CRITICAL')),
    project              text,
    workflow             text,
    workflow_instance_id bigint,
    task_instance_id     bigint,
    alert_group          text NOT NULL DEFAULT 'default' CHECK (alert_group <> ''),
    subject              text NOT NULL CHECK (subject <> ''),
    facts                jsonb NOT NULL DEFAULT '{}' CHECK (jsonb_typeof(facts) = 'object'),
    unique_key           text,
    state                text NOT NULL DEFAULT 'WAIT' CHECK (state IN ('WAIT', 'EXPANDED', 'SILENCED', 'NOBODY')),
    state_reason         text
);
COMMENT ON TABLE alert IS 'What a person is to be notified of. Written by the transaction of what happened, made into deliveries by alert senders.';
COMMENT ON COLUMN alert.project IS 'Null = it concerns the cluster.';
COMMENT ON COLUMN alert.alert_group IS 'The name of the group that gets it, whether there is one or not.';
COMMENT ON COLUMN alert.subject IS 'What happened, in a sentence.';
COMMENT ON COLUMN alert.facts IS 'JSON object: what belongs to it, as names and numbers.';
COMMENT ON COLUMN alert.unique_key IS 'What makes the same thing one alert, such as failover:17; null = nothing does.';
COMMENT ON COLUMN alert.state IS 'EXPANDED = it has a delivery for each channel; NOBODY = nobody gets it, and state_reason says why.';
CREATE UNIQUE INDEX alert_unique ON alert (unique_key) WHERE unique_key IS NOT NULL;
-- Statements: what is to be expanded; pages, newest first, of all (primary key), a project, a run; what nobody gets.
CREATE INDEX alert_wait ON alert (id) WHERE state = 'WAIT';
CREATE INDEX alert_project ON alert (project, id) WHERE project IS NOT NULL;
CREATE INDEX alert_run ON alert (workflow_instance_id, id) WHERE workflow_instance_id IS NOT NULL;
CREATE INDEX alert_nobody ON alert (id) WHERE state = 'NOBODY';
-- Statement: what is old.
CREATE INDEX alert_created ON alert (created_at);

CREATE TABLE alert_delivery (
    alert_id      bigint NOT NULL REFERENCES alert (id) ON DELETE CASCADE,
    channel_id    bigint NOT NULL REFERENCES alert_channel (id) ON DELETE CASCADE,
    state         text NOT NULL DEFAULT 'WAIT' CHECK (state IN ('WAIT', 'SENT', 'FAILED', 'SILENCED', 'GROUPED')),
    tries         integer NOT NULL DEFAULT 0 CHECK (tries >= 0),
    next_try_at   timestamptz NOT NULL DEFAULT clock_timestamp(),
    last_error    text,
    claimed_by    text,
    claimed_until timestamptz,
    sent_at       timestamptz,
    PRIMARY KEY (alert_id, channel_id)
);
COMMENT ON TABLE alert_delivery IS 'An alert for one channel. Of a channel the oldest that waits goes first, so the order is kept.';
COMMENT ON COLUMN alert_delivery.last_error IS 'Why the last try failed, without any secret.';
COMMENT ON COLUMN alert_delivery.claimed_until IS 'Until when its sender alone tries it, by the database''s clock.';
-- Statement: the oldest of each channel that waits.
CREATE INDEX alert_delivery_wait ON alert_delivery (channel_id, alert_id) WHERE state = 'WAIT';

CREATE TABLE run_end (
    id                   bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    workflow_instance_id bigint NOT NULL,
    workflow_code        bigint NOT NULL,
    state                text NOT NULL,
    running_since        timestamptz,
    ended_at             timestamptz NOT NULL,
    reason               text,
    is_child             boolean NOT NULL
);
COMMENT ON TABLE run_end IS 'Ends of runs to which the rules of alerts are still to be applied; a duty deletes a row with what follows from it. Only of projects that have rules; written with the end.';

CREATE TABLE alert_condition (
    kind      text NOT NULL,
    name      text NOT NULL,
    since     timestamptz NOT NULL DEFAULT clock_timestamp(),
    raised_at timestamptz,
    facts     jsonb NOT NULL DEFAULT '{}' CHECK (jsonb_typeof(facts) = 'object'),
    PRIMARY KEY (kind, name)
);
COMMENT ON TABLE alert_condition IS 'What is wrong now and lasts, such as a worker group without workers: one alert when it has lasted, one when it is over.';
COMMENT ON COLUMN alert_condition.raised_at IS 'When its alert was written; null = it has not lasted long enough yet.';

ALTER TABLE error_command ADD COLUMN is_alerted boolean NOT NULL DEFAULT true;
ALTER TABLE error_command ALTER COLUMN is_alerted SET DEFAULT false;
COMMENT ON COLUMN error_command.is_alerted IS 'Whether there is an alert of it.';
-- Statement: of which there is no alert yet.
CREATE INDEX error_command_alert ON error_command (command_id) WHERE NOT is_alerted;

CREATE FUNCTION wake_senders() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_notify('shoal_alert', '');
    RETURN NULL;
END $$;
-- Only wakes: a sender that hears nothing looks by itself.
CREATE TRIGGER alert_wakes_senders AFTER INSERT ON alert FOR EACH STATEMENT EXECUTE FUNCTION wake_senders();

-- The end of a run whose start asked for a report of it. Also when it is written by hand.
CREATE FUNCTION alert_run_end() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
DECLARE
    head record;
BEGIN
    SELECT d.project, d.name INTO head FROM workflow_definition d WHERE d.code = NEW.workflow_code;
    INSERT INTO alert (kind, severity, project, workflow, workflow_instance_id, alert_group, subject, facts, unique_key)
    VALUES ('RUN_ENDED',
            CASE NEW.state WHEN 'SUCCESS' THEN 'INFO' WHEN 'FAILURE' THEN 'CRITICAL' ELSE 'WARNING' END,
            head.project, head.name, NEW.id, coalesce(nullif(NEW.alert_group, ''), 'default'),
            format('run %s of workflow "%s" ended as %s', NEW.id, coalesce(head.name, NEW.workflow_code::text), NEW.state),
            jsonb_strip_nulls(jsonb_build_object(
                'run', NEW.id, 'workflow', head.name, 'project', head.project, 'state', NEW.state,
                'reason', left(NEW.reason, 1000), 'run_times', NEW.run_times, 'started_at', NEW.started_at,
                'ended_at', NEW.ended_at, 'schedule_time', NEW.schedule_time, 'command_type', NEW.command_type)),
            format('run-ended:%s:%s', NEW.id, extract(epoch FROM NEW.ended_at)))
    ON CONFLICT (unique_key) WHERE unique_key IS NOT NULL DO NOTHING;
    RETURN NULL;
END $$;
-- In WHEN, so that the end of a run that nobody wants to hear of calls no function.
CREATE TRIGGER workflow_instance_alerts_its_end AFTER UPDATE OF state ON workflow_instance FOR EACH ROW
    WHEN (OLD.ended_at IS NULL AND NEW.ended_at IS NOT NULL AND NEW.parent_instance_id IS NULL
          AND (NEW.warning_type = 'ALL' OR NEW.warning_type = NEW.state))
    EXECUTE FUNCTION alert_run_end();
CREATE TRIGGER workflow_instance_alerts_its_end_at_once AFTER INSERT ON workflow_instance FOR EACH ROW
    WHEN (NEW.ended_at IS NOT NULL AND NEW.parent_instance_id IS NULL
          AND (NEW.warning_type = 'ALL' OR NEW.warning_type = NEW.state))
    EXECUTE FUNCTION alert_run_end();

-- An attempt that takes longer than its timeout, whose strategy warns: before its end by a duty, else at its end.
CREATE FUNCTION alert_task_timeout(attempt_id bigint) RETURNS void LANGUAGE plpgsql SECURITY DEFINER AS $$
BEGIN
    INSERT INTO alert (kind, severity, project, workflow, workflow_instance_id, task_instance_id, alert_group, subject,
                       facts, unique_key)
    SELECT 'TASK_TIMEOUT', 'WARNING', d.project, d.name, i.id, t.id, coalesce(nullif(i.alert_group, ''), 'default'),
           format('task "%s" of run %s of workflow "%s" takes longer than its timeout', t.task_name, i.id,
                  coalesce(d.name, i.workflow_code::text)),
           jsonb_strip_nulls(jsonb_build_object(
               'run', i.id, 'workflow', d.name, 'project', d.project, 'task', t.task_name, 'attempt', t.attempt,
               'timeout_s', t.timeout_s, 'strategy', t.timeout_strategy, 'started_at', t.started_at)),
           format('task-timeout:%s', t.id)
    FROM task_instance t JOIN workflow_instance i ON i.id = t.workflow_instance_id
    LEFT JOIN workflow_definition d ON d.code = i.workflow_code
    WHERE t.id = attempt_id
    ON CONFLICT (unique_key) WHERE unique_key IS NOT NULL DO NOTHING;
END $$;
COMMENT ON FUNCTION alert_task_timeout IS 'Writes the alert of an attempt that takes longer than its timeout, unless there is one.';
CREATE FUNCTION alert_late_end() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
BEGIN
    IF isfinite(NEW.started_at) AND isfinite(NEW.ended_at)
            AND extract(epoch FROM NEW.ended_at - NEW.started_at) >= NEW.timeout_s THEN
        PERFORM alert_task_timeout(NEW.id);
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER task_instance_alerts_its_timeout AFTER UPDATE OF state ON task_instance FOR EACH ROW
    WHEN (NEW.timeout_strategy IN ('WARN', 'WARNFAILED') AND OLD.ended_at IS NULL AND NEW.ended_at IS NOT NULL)
    EXECUTE FUNCTION alert_late_end();

-- A schedule that fires no more: it cannot be read, or has no time left.
CREATE FUNCTION alert_schedule_rests() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
BEGIN
    INSERT INTO alert (kind, severity, project, workflow, alert_group, subject, facts)
    SELECT 'SCHEDULE_RESTS', CASE WHEN NEW.end_time <= clock_timestamp() THEN 'INFO' ELSE 'WARNING' END,
           d.project, d.name, coalesce(nullif(NEW.alert_group, ''), 'default'),
           format('schedule %s of workflow "%s" does not fire any more: %s', NEW.id,
                  coalesce(d.name, NEW.workflow_code::text), left(NEW.problem, 1000)),
           jsonb_strip_nulls(jsonb_build_object(
               'schedule', NEW.id, 'workflow', d.name, 'project', d.project, 'crontab', left(NEW.crontab, 200),
               'time_zone', left(NEW.time_zone, 200), 'problem', left(NEW.problem, 1000)))
    FROM (SELECT 1) AS one LEFT JOIN workflow_definition d ON d.code = NEW.workflow_code;
    RETURN NULL;
END $$;
CREATE TRIGGER schedule_alerts_its_rest AFTER UPDATE OF problem ON schedule FOR EACH ROW
    WHEN (NEW.problem IS NOT NULL AND OLD.problem IS NULL AND NEW.state = 'ONLINE') EXECUTE FUNCTION alert_schedule_rests();

-- They read and write only tables of this schema, whatever the caller has made in others, and nobody calls them.
DO $$
DECLARE
    each text;
BEGIN
    FOREACH each IN ARRAY ARRAY['alert_run_end()', 'alert_task_timeout(bigint)', 'alert_late_end()',
                                   'alert_schedule_rests()', 'begin_alert_rule_now()'] LOOP
        EXECUTE format('ALTER FUNCTION %s SET search_path TO %I, pg_temp', each, current_schema());
        EXECUTE format('REVOKE ALL ON FUNCTION %s FROM PUBLIC', each);
    END LOOP;
END $$;

INSERT INTO schema_version (version, name, old_nodes_may_run) VALUES (19, 'alerts', true);
