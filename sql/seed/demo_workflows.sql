-- Five workflows worth looking at, codes 1001 to 1005. Safe to run twice: what is there stays as it is.
--
--     psql "$DATABASE" -f sql/seed/demo_workflows.sql
--
-- A workflow by plain SQL is two rows: its head, and the content of a version, of the same shape as a YAML file
-- (docs/guides/workflows.md). Shell and Python scripts find a parameter `day` as $SHOAL_PARAM_day.

\set QUIET on
BEGIN;

INSERT INTO workflow_definition (code, name) VALUES
    (1001, 'hello'),
    (1002, 'fan_out_fan_in'),
    (1003, 'daily_sales'),
    (1004, 'long_chain'),
    (1005, 'one_branch_fails')
ON CONFLICT DO NOTHING;

INSERT INTO workflow_version (workflow_code, version, spec) VALUES
(1001, 1, $${
  "description": "Four shell tasks: one, then two side by side, then one.",
  "params": {"name": "Shoal"},
  "tasks": [
    {"name": "wake",  "type": "SHELL", "params": {"script": "echo \"good morning, $SHOAL_PARAM_name\""}},
    {"name": "hello", "type": "SHELL", "params": {"script": "sleep 0.1; echo hello"}, "after": ["wake"]},
    {"name": "world", "type": "SHELL", "params": {"script": "sleep 0.2; echo world"}, "after": ["wake"]},
    {"name": "bye",   "type": "SHELL", "params": {"script": "echo \"that was all, $SHOAL_PARAM_name\""}, "after": ["hello", "world"]}
  ]
}$$),
(1003, 1, $${
  "description": "A diamond with parameters: two extracts, a transform, then load and report.",
  "params": {"day": "2026-01-31", "currency": "EUR"},
  "priority": "HIGH",
  "failure_strategy": "END",
  "tasks": [
    {"name": "extract_orders",    "type": "SHELL", "params": {"script": "echo \"reading the orders of $SHOAL_PARAM_day\"; sleep 0.3; echo 1284 rows"}},
    {"name": "extract_customers", "type": "SHELL", "params": {"script": "echo \"reading the customers as of $SHOAL_PARAM_day\"; sleep 0.2; echo 310 rows"}},
    {"name": "transform",         "type": "SHELL", "params": {"script": "for step in join clean sum; do echo \"$step\"; sleep 0.1; done"}, "after": ["extract_orders", "extract_customers"], "priority": "HIGH"},
    {"name": "load",              "type": "SHELL", "params": {"script": "sleep 0.2; echo \"loaded the sales of $SHOAL_PARAM_day\""}, "after": ["transform"]},
    {"name": "report",            "type": "SHELL", "params": {"script": "seq 1 1284 | awk -v unit=\"$SHOAL_PARAM_currency\" '{sum += $1} END {print \"sales:\", sum, unit}'"}, "after": ["transform"]}
  ]
}$$),
(1005, 1, $${
  "description": "Python beside shell. One branch fails; with CONTINUE the other runs to its end, then the run is a FAILURE.",
  "failure_strategy": "CONTINUE",
  "tasks": [
    {"name": "prepare",      "type": "PYTHON", "params": {"script": "import platform\nprint('prepared by Python', platform.python_version())"}},
    {"name": "good_compute", "type": "PYTHON", "params": {"script": "import time\ntime.sleep(0.2)\nprint(sum(n * n for n in range(1_000)))"}, "after": ["prepare"]},
    {"name": "good_publish", "type": "SHELL",  "params": {"script": "sleep 0.2; echo published"}, "after": ["good_compute"]},
    {"name": "bad_check",    "type": "SHELL",  "params": {"script": "echo 'table \"orders\" is empty' >&2; exit 3"}, "after": ["prepare"]},
    {"name": "never_runs",   "type": "SHELL",  "params": {"script": "echo this is never printed"}, "after": ["bad_check"]}
  ]
}$$)
ON CONFLICT DO NOTHING;

-- The same shapes could be written out; made by SQL, the size is one number.
INSERT INTO workflow_version (workflow_code, version, spec)
SELECT 1002, 1, jsonb_build_object(
    'description', 'One task, ten side by side, one that waits for all ten. FAKE tasks run no process.',
    'tasks', jsonb_build_array(jsonb_build_object('name', 'split', 'type', 'FAKE'))
        || jsonb_agg(jsonb_build_object('name', 'part_' || n, 'type', 'FAKE', 'after', ARRAY['split'],
                                        'params', jsonb_build_object('sleep_s', 0.1, 'write', 'part ' || n || ' of 10'))
                     ORDER BY n)
        || jsonb_build_object('name', 'collect', 'type', 'FAKE', 'after', jsonb_agg('part_' || n ORDER BY n)))
FROM generate_series(1, 10) AS n
ON CONFLICT DO NOTHING;

INSERT INTO workflow_version (workflow_code, version, spec)
SELECT 1004, 1, jsonb_build_object(
    'description', 'Thirty tasks, each waiting for the one before: shows what one step costs.',
    'priority', 'LOW',
    'tasks', jsonb_agg(jsonb_build_object('name', 'step_' || n, 'type', 'FAKE',
                                          'after', CASE WHEN n = 1 THEN ARRAY[]::text[] ELSE ARRAY['step_' || n - 1] END)
                       ORDER BY n))
FROM generate_series(1, 30) AS n
ON CONFLICT DO NOTHING;

COMMIT;

SELECT d.code, d.name, d.version, d.release_state, jsonb_array_length(v.spec -> 'tasks') AS tasks,
       v.spec ->> 'description' AS description
FROM workflow_definition d JOIN workflow_version v ON v.workflow_code = d.code AND v.version = d.version
WHERE d.code BETWEEN 1001 AND 1005 ORDER BY d.code;
\echo 'Start one:  shoal run hello --wait      or:  INSERT INTO command (type, workflow_code) VALUES (''START_PROCESS'', 1001);'
