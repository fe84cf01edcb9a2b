-- A hundred thousand starts in one statement, of a workflow with a single task that runs no process (code 1010, made
-- here if it is not there). Each run of this file adds 100,000 more.
--
--     psql "$DATABASE" -f sql/seed/commands_100k.sql

\set QUIET on
INSERT INTO workflow_definition (code, name) VALUES (1010, 'one_fake_task') ON CONFLICT DO NOTHING;
INSERT INTO workflow_version (workflow_code, version, spec) VALUES
    (1010, 1, '{"description": "As little as a workflow can be.", "tasks": [{"name": "only", "type": "FAKE"}]}')
ON CONFLICT DO NOTHING;
\set QUIET off

INSERT INTO command (type, workflow_code, created_by)
SELECT 'START_PROCESS', 1010, 'commands_100k.sql' FROM generate_series(1, 100000);

SELECT count(*) AS waiting, min(id) AS first_id, max(id) AS last_id FROM command;
\echo 'Watch them go:  shoal top      shoal master list      shoal queue'
