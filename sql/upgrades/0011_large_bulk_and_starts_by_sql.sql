-- old nodes: may run
-- A change of many runs that goes on over several transactions, and the function that starts a workflow by SQL.
CREATE TABLE bulk_operation (
    id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY CHECK (id > 0),
    action     text NOT NULL CHECK (action IN ('RERUN', 'RERUN_FAILED', 'PAUSE', 'STOP', 'RESUME')),
    state      text NOT NULL DEFAULT 'RUNNING' CHECK (state IN ('RUNNING', 'DONE', 'STOPPED', 'FAILED')),
    wanted     jsonb NOT NULL CHECK (jsonb_typeof(wanted) = 'object'),
    total      bigint NOT NULL CHECK (total >= 0),
    done_to    bigint NOT NULL DEFAULT 0 CHECK (done_to >= 0),
    last_run   bigint NOT NULL CHECK (last_run >= 0),
    asked      bigint NOT NULL DEFAULT 0 CHECK (asked >= 0),
    refused    bigint NOT NULL DEFAULT 0 CHECK (refused >= 0),
    problem    text,
    actor_kind text NOT NULL CHECK (actor_kind IN ('SYSTEM_USER', 'SESSION', 'TOKEN')),
    actor      text NOT NULL,
    account_id bigint,
    address    text NOT NULL DEFAULT '',
    request_id text NOT NULL DEFAULT '',
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    updated_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    ended_at   timestamptz
);
COMMENT ON TABLE bulk_operation IS 'A change of more runs than one transaction takes. Any API process does the next part of it; a part and its progress are one transaction.';
COMMENT ON COLUMN bulk_operation.wanted IS 'Which runs are meant, and in which projects the caller might change them when it asked.';
COMMENT ON COLUMN bulk_operation.total IS 'How many runs were to be changed when it began.';
COMMENT ON COLUMN bulk_operation.done_to IS 'The runs with ids up to this one have been handled.';
COMMENT ON COLUMN bulk_operation.last_run IS 'The last run when it began: later ones are not meant.';
COMMENT ON COLUMN bulk_operation.asked IS 'How many commands were inserted.';
COMMENT ON COLUMN bulk_operation.refused IS 'How many runs were left out, since their project may not use what they need.';
COMMENT ON COLUMN bulk_operation.problem IS 'Why it FAILED, in a sentence.';
-- Statements: the next part of any that runs; what is old.
CREATE INDEX bulk_operation_running ON bulk_operation (updated_at) WHERE state = 'RUNNING';
CREATE INDEX bulk_operation_ended ON bulk_operation (ended_at) WHERE ended_at IS NOT NULL;

CREATE FUNCTION start_workflow(code bigint, params jsonb DEFAULT '{}') RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER AS $$
DECLARE
    head       record;
    content    jsonb;
    of_project jsonb;
    given      text;
    word       text;
    found_id   bigint;
BEGIN
    SELECT d.name, d.project, d.version, d.release_state, p.params, p.tenants, p.worker_groups INTO head
    FROM workflow_definition d LEFT JOIN project p ON p.name = d.project
    WHERE d.code = start_workflow.code;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'there is no workflow with the code %', coalesce(code::text, 'null') USING ERRCODE = 'no_data_found',
            HINT = 'SELECT code, project, name FROM workflow_definition lists those there are.';
    END IF;
    IF head.release_state <> 'ONLINE' THEN
        RAISE EXCEPTION 'workflow "%" is OFFLINE', head.name USING ERRCODE = 'object_not_in_prerequisite_state',
            HINT = 'Put it ONLINE before starting it: shoal workflow online.';
    END IF;
    IF params IS NULL OR jsonb_typeof(params) <> 'object' THEN
        RAISE EXCEPTION 'params must be a JSON object such as {"day": "2026-01-31"}, not %', coalesce(jsonb_typeof(params), 'null')
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF octet_length(params::text) > 1048576 THEN
        RAISE EXCEPTION 'params is larger than 1048576 bytes; pass a file''s name instead' USING ERRCODE = 'program_limit_exceeded';
    END IF;
    -- A version that is missing is left to the master, which writes an error command.
    SELECT v.spec INTO content FROM workflow_version v
    WHERE v.workflow_code = start_workflow.code AND v.version = head.version;
    IF params <> '{}' AND content IS NOT NULL THEN
        BEGIN
            of_project := coalesce(head.params, '{}')::jsonb;
        EXCEPTION WHEN invalid_text_representation THEN
            RAISE EXCEPTION 'the parameters of project "%" are not valid JSON; correct them first', head.project
                USING ERRCODE = 'object_not_in_prerequisite_state';
        END;
        FOR given IN SELECT jsonb_object_keys(params) LOOP
            IF content -> 'secrets' ? given OR jsonb_path_exists(content,
                '$.tasks[*].local_params[*] ? (@.type == "SECRET" && @.name == $name)', jsonb_build_object('name', given)) THEN
                RAISE EXCEPTION 'the parameter "%" of workflow "%" is SECRET: a database has no key to seal it', given, head.name
                    USING ERRCODE = 'invalid_parameter_value', HINT = 'Start it by shoal run, or over the API.';
            END IF;
            -- A sub-workflow may need any name. Else the definition has the word somewhere.
            word := regexp_replace(given, '([^[:alnum:]_])', '\\\1', 'g');
            IF NOT (of_project ? given
                    OR jsonb_path_exists(content, '$.tasks[*] ? (@.type == "SUB_PROCESS" || @.type == "DYNAMIC")')
                    OR content::text ~ ('(?<![\w.])' || word || '(?!\w)|SHOAL_PARAM_' || word)) THEN
                RAISE EXCEPTION 'workflow "%" has no parameter "%"; it has %', head.name, given, coalesce(
                    (SELECT string_agg(DISTINCT name, ', ') FROM (
                        SELECT jsonb_object_keys(coalesce(content -> 'params', '{}')) AS name
                        UNION ALL SELECT jsonb_object_keys(of_project)) AS known), 'none')
                    USING ERRCODE = 'invalid_parameter_value';
            END IF;
        END LOOP;
    END IF;
    SELECT 'the worker group "' || each || '", only ' || array_to_string(head.worker_groups, ', ') INTO word
    FROM (SELECT content ->> 'worker_group' UNION ALL
          SELECT jsonb_path_query(content, '$.tasks[*].worker_group') #>> '{}') AS named (each)
    WHERE each <> ALL (head.worker_groups) LIMIT 1;
    IF word IS NULL THEN
        SELECT 'the tenant "' || each || '", only ' || array_to_string(head.tenants, ', ') INTO word
        FROM (SELECT content ->> 'tenant' UNION ALL
              SELECT jsonb_path_query(content, '$.tasks[*].tenant') #>> '{}') AS named (each)
        WHERE each <> ALL (head.tenants) LIMIT 1;
    END IF;
    IF word IS NOT NULL THEN
        RAISE EXCEPTION 'project "%" may not use %', head.project, word USING ERRCODE = 'insufficient_privilege',
            HINT = 'Name one of those in the workflow, or ask an admin.';
    END IF;
    INSERT INTO command (type, workflow_code, params) VALUES ('START_PROCESS', start_workflow.code, params::text)
    RETURNING id INTO found_id;
    RETURN found_id;
END $$;
COMMENT ON FUNCTION start_workflow IS 'Starts a workflow after the checks that the API makes, and returns the id of the command. Who may: docs/roles.md.';
-- With the rights of the owner of the tables: it reads only tables of this schema, whatever the caller has made in others.
REVOKE ALL ON FUNCTION start_workflow FROM PUBLIC;
DO $$ BEGIN EXECUTE format('ALTER FUNCTION start_workflow SET search_path TO %I, pg_temp', current_schema()); END $$;

INSERT INTO schema_version (version, name, old_nodes_may_run) VALUES (11, 'large_bulk_and_starts_by_sql', true);
