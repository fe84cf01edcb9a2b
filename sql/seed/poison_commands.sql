-- Everything that can be wrong with a command, and good ones beside it. Each bad one must end in error_command with a
-- separate sentence, each good one must run, and no master may stop. Safe to run again: it adds the same again.
--
--     psql "$DATABASE" -f sql/seed/poison_commands.sql

\ir demo_workflows.sql
\set QUIET on
BEGIN;

INSERT INTO workflow_definition (code, name, release_state) VALUES
    (1006, 'switched_off', 'OFFLINE'),
    (1007, 'in_a_circle', 'ONLINE'),
    (1008, 'without_a_version', 'ONLINE')
ON CONFLICT DO NOTHING;
INSERT INTO workflow_version (workflow_code, version, spec) VALUES
    (1006, 1, '{"tasks": [{"name": "only", "type": "FAKE"}]}'),
    (1007, 1, '{"tasks": [{"name": "hen", "type": "FAKE", "after": ["egg"]}, {"name": "egg", "type": "FAKE", "after": ["hen"]}]}')
ON CONFLICT DO NOTHING;

INSERT INTO command (type, workflow_code, created_by) VALUES
    ('START_PROCES', 1001, 'poison: a type with a slip'),
    ('PLEASE_RUN',   1001, 'poison: an unknown type'),
    ('',             1001, 'poison: no type'),
    ('START_PROCESS', 999999999, 'poison: no such workflow'),
    ('START_PROCESS', NULL,      'poison: names no workflow'),
    ('START_PROCESS', -1,        'poison: a negative code'),
    ('START_PROCESS', 1006,      'poison: workflow is OFFLINE'),
    ('START_PROCESS', 1007,      'poison: workflow goes in a circle'),
    ('START_PROCESS', 1008,      'poison: workflow without content'),
    ('RECOVER_TOLERANCE_FAULT_PROCESS', NULL, 'poison: names no run');
INSERT INTO command (type, workflow_code, workflow_version, created_by) VALUES
    ('START_PROCESS', 1001, 4711, 'poison: no such version'),
    ('START_PROCESS', 1001, 0,    'poison: version 0');
INSERT INTO command (type, workflow_code, params, created_by) VALUES
    ('START_PROCESS', 1001, '{"day": ',           'poison: broken JSON'),
    ('START_PROCESS', 1001, '',                   'good: empty params'),
    ('START_PROCESS', 1001, '["day"]',            'poison: a list for an object'),
    ('START_PROCESS', 1001, repeat('[', 100000),  'poison: nested 100,000 deep'),
    ('START_PROCESS', 1001, '{"a": "\u0000"}',    'poison: a NUL in a value');
INSERT INTO command (type, workflow_code, priority, failure_strategy, created_by) VALUES
    ('START_PROCESS', 1001, 'ABSOLUTELY_FIRST', NULL, 'poison: absurd priority'),
    ('START_PROCESS', 1001, NULL, 'SHRUG',            'poison: absurd failure strategy');
INSERT INTO command (type, workflow_code, created_at, created_by) VALUES
    ('START_PROCESS', 1001, 'infinity',  'good: asked at the end of all days'),
    ('START_PROCESS', 1001, '-infinity', 'good: asked before all days');
INSERT INTO command (type, workflow_instance_id, created_by) VALUES
    ('RECOVER_TOLERANCE_FAULT_PROCESS', 999999999, 'poison: no such run')
ON CONFLICT DO NOTHING;  -- one open hand-over of a run is all that there can be

INSERT INTO command (type, workflow_code, created_by)
SELECT 'START_PROCESS', 1001 + n % 4, 'good: beside the poison' FROM generate_series(1, 20) AS n;

COMMIT;

SELECT split_part(created_by, ':', 1) AS kind, count(*) AS waiting
FROM command WHERE created_by LIKE 'poison:%' OR created_by LIKE 'good:%' GROUP BY 1 ORDER BY 1;
\echo 'In a moment each of the poison is told with its reason:  shoal queue errors      and the good ones ran:  shoal runs'
