-- A hundred starts of the demo workflows 1001 to 1004, in mixed order and priority. Each run of this file adds 100 more.
--
--     psql "$DATABASE" -f sql/seed/commands_100.sql
--
-- Watch them being shared: `shoal master list` in another terminal.

\ir demo_workflows.sql

INSERT INTO command (type, workflow_code, priority, created_by)
SELECT 'START_PROCESS', 1001 + n % 4, CASE WHEN n % 10 = 0 THEN 'HIGH' END, 'commands_100.sql'
FROM generate_series(1, 100) AS n;

SELECT type, workflow_code, count(*) AS commands, min(id) AS first_id, max(id) AS last_id
FROM command WHERE created_by = 'commands_100.sql' GROUP BY type, workflow_code ORDER BY workflow_code;
\echo 'What is counted here still waited at this moment. Then:  shoal master list   shoal queue   shoal runs'
