-- Who may do what: a role for each part of Shoal, so that a submitter cannot write what only nodes may.
--
-- Run it as the owner of the tables, with the right to create roles: `shoal db roles`, or
--     PGOPTIONS='-c shoal.role_prefix=acme_' psql -f sql/roles.sql
-- Running it again does nothing, or brings the rights up to date after an upgrade. The roles cannot log in: give
-- each user one, CREATE USER airport_master PASSWORD '...' IN ROLE shoal_master. docs/roles.md has the table of rights.

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
    -- Who may log in, how, and what they did: for whoever serves people only. These contain hashes of secrets.
    users     text := 'account, login_link, login_session, token, project_member, login_attempt, audit, idempotency_key, '
                      'saved_view, bulk_operation';
    each      text;
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

    -- The owner: all rows, the sealed ones too; new keys (`shoal secrets rotate`).
    EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA %s TO %s', space, owner);

    -- A master drives everything, changes no definition, and reads no secret.
    EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA %s TO %s', space, master);
    EXECUTE format('REVOKE ALL ON environment, data_source, log_key, alert_channel FROM %s', master);
    EXECUTE format('REVOKE ALL ON %s FROM %s', users, master);
    EXECUTE format('GRANT INSERT ON audit TO %s', master);
    EXECUTE format('REVOKE INSERT, UPDATE, DELETE ON project, workflow_definition, deleted_workflow, workflow_version, workflow_draft, schema_version '
                   'FROM %s', master);
    -- Of a rule it writes only why it raises nothing; whom alerts reach is for people to say.
    EXECUTE format('REVOKE INSERT, UPDATE, DELETE ON alert_group, alert_group_channel, alert_silence, alert_rule FROM %s', master);
    EXECUTE format('GRANT UPDATE (problem) ON alert_rule TO %s', master);
    EXECUTE format('GRANT EXECUTE ON FUNCTION %s.alert_task_timeout TO %s', space, master);
    EXECUTE format('GRANT UPDATE (updated_at) ON workflow_definition TO %s', master);  -- to hold the line of a serial one

    -- A worker claims tasks and says how they ended.
    EXECUTE format('GRANT SELECT ON ALL TABLES IN SCHEMA %s TO %s', space, worker);
    EXECUTE format('REVOKE ALL ON %s FROM %s', users, worker);
    EXECUTE format('GRANT INSERT, UPDATE ON node, node_beat, cluster TO %s', worker);
    -- Its own log key it says; that of another it does not read.
    EXECUTE format('REVOKE ALL ON log_key, alert_channel FROM %s', worker);
    EXECUTE format('GRANT SELECT (node_id), INSERT, DELETE ON log_key TO %s', worker);
    EXECUTE format('GRANT INSERT, UPDATE, DELETE ON registry_lease TO %s', worker);
    -- It copies its logs, and deletes copies of runs that are gone.
    EXECUTE format('GRANT INSERT, UPDATE, DELETE ON log_store, stored_log, log_copying TO %s', worker);
    EXECUTE format('GRANT UPDATE (state, worker_id, started_at, ended_at, exit_code, reason, outputs, queued_at, progress_done, progress_total, '
                   'progress_text, progress_at, ready_at, handover) ON task_instance TO %s', worker);
    EXECUTE format('GRANT INSERT ON task_event TO %s', worker);
    EXECUTE format('GRANT INSERT, UPDATE ON task_cache TO %s', worker);
    EXECUTE format('GRANT INSERT ON alert TO %s', worker);  -- results of SQL tasks
    -- It takes, checks and gives back resources, and holds their pool meanwhile; their lines are written by triggers.
    EXECUTE format('GRANT UPDATE (changed_at) ON resource_pool TO %s', worker);
    EXECUTE format('GRANT UPDATE (task_instance_id, worker_id, taken_at, free_since, set_aside_at, set_aside_why, set_aside_by, found_why, '
                   'checked_at, checking_by, checking_since), DELETE ON pool_resource TO %s', worker);

    -- Whoever serves people: sees everything (secrets are sealed), asks for anything, writes definitions, drives nothing.
    EXECUTE format('GRANT SELECT ON ALL TABLES IN SCHEMA %s TO %s', space, api);
    EXECUTE format('GRANT INSERT, UPDATE, DELETE ON environment, data_source, schedule, workflow_draft TO %s', api);
    EXECUTE format('GRANT INSERT, UPDATE, DELETE ON resource_pool, pool_resource TO %s', api);
    EXECUTE format('GRANT INSERT, UPDATE ON project, workflow_definition, workflow_version TO %s', api);
    EXECUTE format('GRANT DELETE ON project, workflow_definition, workflow_version TO %s', api);
    EXECUTE format('GRANT INSERT (%s, created_by, schedule_id, parent) ON command TO %s', asked, api);
    EXECUTE format('GRANT DELETE ON error_command TO %s', api);
    EXECUTE format('GRANT UPDATE (state, reason, flag) ON task_instance TO %s', api);
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

    -- Whoever sends alerts: reads them and their channels (the URLs are sealed), and writes what became of each.
    EXECUTE format('GRANT SELECT ON schema_version, alert, alert_delivery, alert_channel, alert_group, alert_group_channel, '
                   'alert_silence TO %s', alert);
    EXECUTE format('GRANT UPDATE (state, state_reason) ON alert TO %s', alert);
    EXECUTE format('GRANT INSERT, UPDATE ON alert_delivery TO %s', alert);
    EXECUTE format('GRANT UPDATE (claimed_by, claimed_until) ON alert_channel TO %s', alert);

    -- Whoever only starts and halts runs, by plain SQL.
    EXECUTE format('GRANT INSERT (%s) ON command TO %s', asked, submitter);
    EXECUTE format('GRANT SELECT (id) ON command TO %s', submitter);
    EXECUTE format('GRANT SELECT (code, project, name, version, release_state) ON workflow_definition TO %s', submitter);
    EXECUTE format('GRANT SELECT (id, command_id, workflow_code, workflow_version, state, started_at, ended_at, reason) '
                   'ON workflow_instance TO %s', submitter);
    EXECUTE format('GRANT SELECT (command_id, reason, refused_at) ON error_command TO %s', submitter);

    -- The rows of the audit whose time is over, and no others.
    EXECUTE format('GRANT EXECUTE ON FUNCTION %s.delete_old_audit TO %s, %s', space, owner, master);

    -- With the checks of the API: whoever has only this starts nothing else and reads nothing.
    EXECUTE format('GRANT EXECUTE ON FUNCTION %s.start_workflow TO %s, %s, %s', space, owner, api, submitter);

    -- Fencing ends the sessions of the fenced, whatever user they log in as.
    BEGIN
        EXECUTE format('GRANT pg_signal_backend TO %s, %s', master, worker);
    EXCEPTION WHEN insufficient_privilege THEN
        RAISE WARNING 'pg_signal_backend could not be granted: all masters and workers must log in as one user, or a '
                      'superuser runs GRANT pg_signal_backend TO %, %', master, worker;
    END;
END $$;
