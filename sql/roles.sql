-- Who may do what: a role for each part of Shoal, so that a submitter cannot write what only nodes may.
--
-- Run it as the owner of the tables, with the right to create roles: `shoal db roles`, or
--     PGOPTIONS='-c shoal.role_prefix=acme_' psql -f sql/roles.sql
-- Running it again does nothing, or brings the rights up to date after an upgrade. The roles cannot log in: give
-- each user one, CREATE USER airport_master PASSWORD '...' IN ROLE shoal_master. The table of rights is in
-- docs/reference/roles.md.

DO $$
DECLARE
    prefix    text := coalesce(nullif(current_setting('shoal.role_prefix', true), ''), 'shoal_');
    space     text := quote_ident(current_schema());
    owner     text := quote_ident(prefix || 'owner');
    master    text := quote_ident(prefix || 'master');
    worker    text := quote_ident(prefix || 'worker');
    api       text := quote_ident(prefix || 'api');
    alert     text := quote_ident(prefix || 'alert');
    submitter text := quote_ident(prefix || 'submitter');
    -- What a person asks for. Not: id, created_at, created_by (the database says who), schedule_id, parent, from_above,
    -- deaths, tried_by.
    asked     text := 'type, workflow_code, workflow_version, workflow_instance_id, params, priority, failure_strategy, '
                      'worker_group, warning_type, alert_group, environment, dry_run, task_depend_type, start_tasks, '
                      'schedule_time, time_zone, traceparent';
    -- Who may log in, how, and what they did: for the API only. These contain hashes of secrets.
    users     text := 'account, login_link, login_session, token, project_member, login_attempt, audit, idempotency_key, '
                      'saved_view, bulk_operation';
    -- Who may run nodes without any of these roles, as `shoal up` does.
    tables_owner text := (SELECT relowner::regrole FROM pg_class WHERE oid = to_regclass('schema_version'));
    each      text;
    rule      text;
BEGIN
    FOREACH each IN ARRAY ARRAY[prefix || 'owner', prefix || 'master', prefix || 'worker', prefix || 'api', prefix || 'alert', prefix || 'submitter'] LOOP
        IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = each) THEN
            EXECUTE format('CREATE ROLE %I NOLOGIN', each);
        END IF;
        -- Begin from nothing, so that a right that this file no longer gives is gone.
        EXECUTE format('REVOKE ALL ON ALL TABLES IN SCHEMA %s FROM %I', space, each);
        EXECUTE format('GRANT USAGE ON SCHEMA %s TO %I', space, each);
    END LOOP;
    EXECUTE format('REVOKE ALL ON ALL TABLES IN SCHEMA %s FROM PUBLIC', space);

    -- The owner: all rows, the sealed ones too; new keys (`shoal config rotate-keys`).
    EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA %s TO %s', space, owner);

    -- A master drives everything, changes no definition, and reads no secret.
    EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA %s TO %s', space, master);
    EXECUTE format('REVOKE ALL ON environment, data_source, log_key, alert_channel, workflow_draft FROM %s', master);
    EXECUTE format('REVOKE ALL ON %s FROM %s', users, master);
    EXECUTE format('GRANT INSERT ON audit TO %s', master);
    EXECUTE format('REVOKE INSERT, UPDATE, DELETE ON project, workflow_definition, deleted_workflow, workflow_version, schema_version, '
                   'project_file, version_file FROM %s', master);
    EXECUTE format('REVOKE INSERT, UPDATE ON file_content FROM %s', master);
    -- Of a rule it writes only why it raises nothing; whom alerts reach is for people to say.
    EXECUTE format('REVOKE INSERT, UPDATE, DELETE ON alert_group, alert_group_channel, alert_silence, alert_rule FROM %s', master);
    EXECUTE format('GRANT UPDATE (problem) ON alert_rule TO %s', master);
    EXECUTE format('GRANT SELECT ON SEQUENCE %s TO %s', pg_get_serial_sequence('command', 'id'), master);  -- ending_after
    EXECUTE format('GRANT EXECUTE ON FUNCTION %s.alert_task_timeout TO %s', space, master);
    EXECUTE format('GRANT UPDATE (updated_at) ON workflow_definition TO %s', master);  -- to hold the line of a serial one

    EXECUTE format('REVOKE UPDATE, DELETE ON went_back FROM %s', master);  -- what it stopped, a person lets go on

    -- A worker claims tasks and says how they ended. It reads what it needs for that, and nothing else.
    EXECUTE format('GRANT SELECT ON schema_version, cluster, node, node_beat, went_back, drain, registry_lease, log_store, stored_log, log_copying, '
                   'project, workflow_definition, deleted_workflow, workflow_instance, task_instance, task_cache, resource_pool, pool_resource, pool_line, '
                   'environment, data_source, file_content TO %s', worker);
    EXECUTE format('GRANT INSERT, UPDATE ON cluster TO %s', worker);
    -- Who a node is, and where its logs are, it says once.
    EXECUTE format('GRANT INSERT, UPDATE (state, ended_at, ended_why) ON node TO %s', worker);
    EXECUTE format('GRANT INSERT, UPDATE (beat_no, beaten_at, heartbeat) ON node_beat TO %s', worker);
    EXECUTE format('GRANT INSERT ON went_back TO %s', worker);
    EXECUTE format('GRANT SELECT ON SEQUENCE %s TO %s', pg_get_serial_sequence('task_instance', 'id'), worker);
    -- Its own log key it says, once; that of another it does not read.
    EXECUTE format('GRANT SELECT (node_id), INSERT ON log_key TO %s', worker);
    EXECUTE format('GRANT INSERT, UPDATE, DELETE ON registry_lease TO %s', worker);
    -- It copies its logs, and deletes copies of runs that are gone.
    EXECUTE format('GRANT INSERT, UPDATE, DELETE ON log_store, stored_log TO %s', worker);
    EXECUTE format('GRANT INSERT, UPDATE (waiting, failing_since, reason, at) ON log_copying TO %s', worker);
    EXECUTE format('GRANT UPDATE (state, worker_id, started_at, ended_at, exit_code, reason, outputs, queued_at, progress_done, progress_total, '
                   'progress_text, progress_at, ready_at, handover, wait_reason, due_at, looks) ON task_instance TO %s', worker);
    EXECUTE format('GRANT INSERT ON task_event TO %s', worker);
    EXECUTE format('GRANT INSERT, UPDATE ON task_cache TO %s', worker);
    EXECUTE format('GRANT SELECT (id, unique_key), INSERT ON alert TO %s', worker);  -- results of SQL tasks
    -- It takes, checks and gives back resources, and holds their pool meanwhile; their lines are written by triggers.
    EXECUTE format('GRANT UPDATE (changed_at) ON resource_pool TO %s', worker);
    EXECUTE format('GRANT UPDATE (task_instance_id, worker_id, taken_at, free_since, set_aside_at, set_aside_why, set_aside_by, found_why, '
                   'checked_at, checking_by, checking_since), DELETE ON pool_resource TO %s', worker);

    -- Which rows it may write, and which a submitter may read. All other roles use those that their rights allow, and none
    -- of these tables is one of the hot path. A name has its place in the list, since a policy has no other.
    FOREACH each IN ARRAY ARRAY['node', 'node_beat', 'registry_lease', 'alert', 'log_key', 'error_command'] LOOP
        EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', each);
        EXECUTE format('DROP POLICY IF EXISTS all_rows ON %I', each);
        EXECUTE format('CREATE POLICY all_rows ON %I USING (true) WITH CHECK (true)', each);
    END LOOP;
    FOREACH rule IN ARRAY ARRAY[
        -- It fences other workers whose name it has, and no master.
        $rule$node %1$sjoin RESTRICTIVE FOR INSERT TO %2$s WITH CHECK (kind = 'WORKER')$rule$,
        $rule$node %1$send RESTRICTIVE FOR UPDATE TO %2$s USING (kind = 'WORKER')$rule$,
        $rule$node_beat %1$sbeat RESTRICTIVE FOR UPDATE TO %2$s
              USING (EXISTS (SELECT FROM node n WHERE n.id = node_id AND n.kind = 'WORKER'))$rule$,
        $rule$log_key %1$skey RESTRICTIVE FOR INSERT TO %2$s
              WITH CHECK (EXISTS (SELECT FROM node n WHERE n.id = node_id AND n.kind = 'WORKER'))$rule$,
        $rule$registry_lease %1$slease RESTRICTIVE FOR INSERT TO %2$s WITH CHECK (kind = 'WORKER')$rule$,
        $rule$registry_lease %1$sextend RESTRICTIVE FOR UPDATE TO %2$s USING (kind = 'WORKER')$rule$,
        $rule$registry_lease %1$sdrop RESTRICTIVE FOR DELETE TO %2$s
              USING (kind = 'WORKER' OR expires_at < clock_timestamp() - interval '1 minute')$rule$,
        $rule$alert %1$sresult RESTRICTIVE FOR INSERT TO %2$s
              WITH CHECK (kind = 'SQL_RESULT' AND severity = 'INFO' AND state = 'WAIT'
                          AND unique_key = format('sql-result:%%s', task_instance_id)
                          AND EXISTS (SELECT FROM task_instance t JOIN workflow_instance i ON i.id = t.workflow_instance_id
                                      LEFT JOIN workflow_definition d ON d.code = i.workflow_code
                                      WHERE t.id = task_instance_id AND t.workflow_instance_id = alert.workflow_instance_id
                                        AND d.project IS NOT DISTINCT FROM alert.project))$rule$,
        -- A reason names tasks and parameters of a project.
        $rule$error_command %1$sown RESTRICTIVE FOR SELECT TO %3$s USING (created_by = session_user)$rule$
    ] LOOP
        each := format(rule, prefix, worker, submitter);
        EXECUTE format('DROP POLICY IF EXISTS %I ON %I', split_part(each, ' ', 2), split_part(each, ' ', 1));
        EXECUTE format('CREATE POLICY %I ON %I AS %s', split_part(each, ' ', 2), split_part(each, ' ', 1),
                       substr(each, length(split_part(each, ' ', 1)) + length(split_part(each, ' ', 2)) + 3));
    END LOOP;

    -- The API: sees everything (secrets are sealed), asks for anything, writes definitions, drives nothing.
    EXECUTE format('GRANT SELECT ON ALL TABLES IN SCHEMA %s TO %s', space, api);
    EXECUTE format('GRANT INSERT, UPDATE, DELETE ON environment, data_source, schedule, workflow_draft TO %s', api);
    EXECUTE format('GRANT INSERT, UPDATE, DELETE ON resource_pool, pool_resource TO %s', api);
    EXECUTE format('GRANT INSERT, UPDATE ON project, workflow_definition, workflow_version, file_content, project_file TO %s', api);
    EXECUTE format('GRANT DELETE ON project, workflow_definition, workflow_version, project_file, dataset_wait TO %s', api);
    EXECUTE format('GRANT INSERT ON version_file TO %s', api);
    -- The code of a new workflow is asked for before its row is written.
    EXECUTE format('GRANT USAGE ON SEQUENCE %s TO %s', pg_get_serial_sequence('workflow_definition', 'code'), api);
    EXECUTE format('GRANT SELECT ON SEQUENCE %s TO %s', pg_get_serial_sequence('command', 'id'), api);  -- the doctor
    EXECUTE format('GRANT INSERT (%s, created_by, schedule_id, parent) ON command TO %s', asked, api);
    EXECUTE format('GRANT DELETE ON error_command TO %s', api);
    EXECUTE format('GRANT UPDATE (state, reason, flag) ON task_instance TO %s', api);
    EXECUTE format('GRANT UPDATE (traceparent) ON workflow_instance TO %s', api);  -- to hold a run whose task is marked
    -- Accounts and revoked tokens stay, since the audit names them; the audit is only added to.
    EXECUTE format('GRANT INSERT, UPDATE ON account, token TO %s', api);
    EXECUTE format('GRANT INSERT, UPDATE, DELETE ON login_link, login_session, project_member, login_attempt, idempotency_key, '
                   'saved_view TO %s', api);
    EXECUTE format('GRANT INSERT ON audit TO %s', api);
    EXECUTE format('GRANT INSERT, UPDATE, DELETE ON bulk_operation TO %s', api);
    EXECUTE format('GRANT INSERT, DELETE ON drain TO %s', api);
    EXECUTE format('GRANT INSERT ON stream_restart, rebalance TO %s', api);
    -- To ask for a restart again.
    EXECUTE format('GRANT UPDATE (asked_at, asked_by, begun_at, ended_attempt) ON stream_restart TO %s', api);
    -- Of alerts it writes whom they reach and when, asks for a test, and has one sent again.
    EXECUTE format('GRANT INSERT, UPDATE, DELETE ON alert_channel, alert_group, alert_group_channel, alert_rule, alert_silence TO %s', api);
    EXECUTE format('GRANT INSERT, UPDATE (state, state_reason) ON alert TO %s', api);
    EXECUTE format('GRANT UPDATE (state, next_try_at, waits_since, tries) ON alert_delivery TO %s', api);

    -- The sender of alerts: reads them and their channels (the URLs are sealed), and writes what became of each.
    EXECUTE format('GRANT SELECT ON schema_version, alert, alert_delivery, alert_channel, alert_group, alert_group_channel, '
                   'alert_silence TO %s', alert);
    EXECUTE format('GRANT SELECT (name, alert_groups) ON project TO %s', alert);
    EXECUTE format('GRANT UPDATE (state, state_reason) ON alert TO %s', alert);
    EXECUTE format('GRANT INSERT, UPDATE ON alert_delivery TO %s', alert);
    EXECUTE format('GRANT UPDATE (claimed_by, claimed_until) ON alert_channel TO %s', alert);

    -- A submitter only starts and halts runs, by plain SQL.
    EXECUTE format('GRANT INSERT (%s) ON command TO %s', asked, submitter);
    EXECUTE format('GRANT SELECT (id) ON command TO %s', submitter);
    EXECUTE format('GRANT SELECT (id) ON went_back TO %s', submitter);  -- asked for each command
    EXECUTE format('GRANT SELECT (code, project, name, version, release_state) ON workflow_definition TO %s', submitter);
    EXECUTE format('GRANT SELECT (id, command_id, workflow_code, workflow_version, state, started_at, ended_at) '
                   'ON workflow_instance TO %s', submitter);
    EXECUTE format('GRANT EXECUTE ON FUNCTION %s.reason_of_run TO %s, %s', space, owner, submitter);
    EXECUTE format('GRANT SELECT (command_id, reason, refused_at) ON error_command TO %s', submitter);

    -- The rows of the audit whose time is over, and no others.
    EXECUTE format('GRANT EXECUTE ON FUNCTION %s.delete_old_audit TO %s, %s', space, owner, master);

    EXECUTE format('GRANT EXECUTE ON FUNCTION %s.answer_approval TO %s, %s', space, owner, api);

    -- With the checks of the API: a user who has only this right starts nothing else and reads nothing.
    EXECUTE format('GRANT EXECUTE ON FUNCTION %s.start_workflow TO %s, %s, %s', space, owner, api, submitter);

    -- Shoal's locks are numbers that anybody can compute: who only asks must not hold them. Only a superuser may say so.
    IF (SELECT rolsuper FROM pg_roles WHERE rolname = current_user) THEN
        FOR each IN SELECT oid::regprocedure::text FROM pg_proc
                    WHERE pronamespace = 'pg_catalog'::regnamespace AND proname ~ '^pg_(try_)?advisory_' LOOP
            EXECUTE format('REVOKE EXECUTE ON FUNCTION %s FROM PUBLIC', each);
            EXECUTE format('GRANT EXECUTE ON FUNCTION %s TO %s, %s, %s, %s, %s, %s', each, owner, master, worker, api, alert,
                           tables_owner);
        END LOOP;
    ELSE
        RAISE WARNING 'anyone who may log in to this database can take the locks of logins and alerts: a superuser revokes '
                      'EXECUTE on the functions pg_advisory_* and pg_try_advisory_* from PUBLIC';
    END IF;

    -- Fencing ends the sessions of the fenced, whatever user they log in as.
    BEGIN
        EXECUTE format('GRANT pg_signal_backend TO %s, %s', master, worker);
    EXCEPTION WHEN insufficient_privilege THEN
        RAISE WARNING 'pg_signal_backend could not be granted: all masters and workers must log in as one user, or a '
                      'superuser runs GRANT pg_signal_backend TO %, %', master, worker;
    END;
END $$;
