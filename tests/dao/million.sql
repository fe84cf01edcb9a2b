-- A cluster in full swing: a million commands wait, a million tasks and runs are history, a thousand of each are not.
-- The statistics are of an early moment, when all that there was waited or ran; autovacuum would refresh them later.
SET session_replication_role = replica;
ALTER TABLE command SET (autovacuum_enabled = off);
ALTER TABLE task_instance SET (autovacuum_enabled = off);
ALTER TABLE workflow_instance SET (autovacuum_enabled = off);
ALTER TABLE task_event SET (autovacuum_enabled = off);
ALTER TABLE node SET (autovacuum_enabled = off);
ALTER TABLE schedule SET (autovacuum_enabled = off);

-- Masters 1 to 50, of which 1 and 2 live; workers 51 to 100, of which 51 and 52 live.
INSERT INTO node (incarnation, kind, address, state, process_boot, process_id, process_started)
SELECT gen_random_uuid(), CASE WHEN i <= 50 THEN 'MASTER' ELSE 'WORKER' END, '10.0.0.1:' || i,
       CASE WHEN i IN (1, 2, 51, 52) THEN 'ALIVE' ELSE 'FENCED' END, 'boot', i, i
FROM generate_series(1, 100) AS i;
INSERT INTO node_beat (node_id) SELECT id FROM node;

-- A thousand runs, and for each a task: of workers 51 to 54 the first 500, queued the others.
INSERT INTO workflow_instance (command_id, workflow_code, workflow_version, state, master_id, failure_strategy, priority,
                               worker_group)
SELECT 2000000 + i, 1001, 1, 'RUNNING_EXECUTION', 1 + i % 4, 'CONTINUE', 'MEDIUM', 'default'
FROM generate_series(1, 1000) AS i;
INSERT INTO task_instance (workflow_instance_id, task_code, task_name, task_type, state, worker_group,
                           workflow_priority, task_priority, worker_id, started_at)
SELECT i, 1, 'a', 'FAKE', CASE WHEN i <= 500 THEN 'RUNNING_EXECUTION' ELSE 'QUEUED' END, 'default', 'MEDIUM', 'MEDIUM',
       CASE WHEN i <= 500 THEN 51 + i % 4 END, clock_timestamp()
FROM generate_series(1, 1000) AS i;
INSERT INTO task_event (workflow_instance_id, task_code, attempt, state, owner)
SELECT 1 + i % 1000, 1, 1, 'SUCCESS', 1 + (1 + i % 1000) % 4 FROM generate_series(1, 2000) AS i;
INSERT INTO command (type, workflow_code) SELECT 'START_PROCESS', 1001 FROM generate_series(1, 1000) AS i;
-- Schedules: 1 to 200 are due.
INSERT INTO schedule (workflow_code, crontab, next_fire_at, updated_at)
SELECT 1001, '0 5 * * *', '2026-01-01', '2026-01-01' FROM generate_series(1, 200) AS i;
ANALYZE;

-- Then a hundred thousand that lie ahead, rest or are OFFLINE.
INSERT INTO schedule (workflow_code, crontab, next_fire_at, state, problem)
SELECT 1001, '0 5 * * *', CASE WHEN i % 3 > 0 THEN clock_timestamp() + interval '1 day' END,
       CASE WHEN i % 3 = 1 THEN 'OFFLINE' ELSE 'ONLINE' END, CASE WHEN i % 3 = 0 THEN 'it is broken' END
FROM generate_series(1, 100000) AS i;

INSERT INTO command (type, workflow_code, priority)
SELECT 'START_PROCESS', 1001, (ARRAY['HIGHEST', 'HIGH', 'MEDIUM', 'LOW', 'LOWEST'])[1 + (i * 7919::bigint) % 5]
FROM generate_series(1, 999000) AS i;
-- Of the runs that are over a tenth is of a serial workflow, in whose line ten wait, and a tenth were children.
INSERT INTO workflow_instance (command_id, workflow_code, workflow_version, state, master_id, failure_strategy, priority,
                               worker_group, ended_at, execution_type, parent_instance_id, parent_task_code, parent_attempt,
                               child_index)
SELECT 3000000 + i, CASE WHEN i % 10 = 0 THEN 2002 ELSE 1001 END, 1, 'SUCCESS', 1 + i % 4, 'CONTINUE', 'MEDIUM',
       'default', clock_timestamp(), CASE WHEN i % 10 = 0 THEN 'SERIAL_WAIT' ELSE 'PARALLEL' END,
       CASE WHEN i % 10 = 1 THEN 1000 + i / 1000 END, CASE WHEN i % 10 = 1 THEN 1 END, CASE WHEN i % 10 = 1 THEN 1 END,
       CASE WHEN i % 10 = 1 THEN i END
FROM generate_series(1, 1000000) AS i;
INSERT INTO workflow_instance (command_id, workflow_code, workflow_version, state, master_id, failure_strategy, priority,
                               worker_group, execution_type)
SELECT 5000000 + i, 2002, 1, 'SERIAL_WAIT', 0, 'CONTINUE', 'MEDIUM', 'default', 'SERIAL_WAIT'
FROM generate_series(1, 300) AS i;
-- A workflow with 50 keys: in the line of each two wait, their commands in the other order, and none runs.
INSERT INTO workflow_instance (command_id, workflow_code, workflow_version, state, master_id, failure_strategy, priority,
                               worker_group, execution_type, serial_key)
SELECT 5001000 - i, 3003, 1, 'SERIAL_WAIT', 0, 'CONTINUE', 'MEDIUM', 'default', 'SERIAL_WAIT', 'key ' || i % 50
FROM generate_series(1, 100) AS i;
-- The first runs of master 1 have ten children each; those are over.
INSERT INTO workflow_instance (command_id, workflow_code, workflow_version, state, master_id, failure_strategy, priority,
                               worker_group, ended_at, parent_instance_id, parent_task_code, parent_attempt, child_index)
SELECT 6000000 + 100 * i + n, 1001, 1, 'SUCCESS', 2, 'CONTINUE', 'MEDIUM', 'default', clock_timestamp(), 4 * i, 3, 1, n
FROM generate_series(1, 20) AS i, generate_series(0, 9) AS n;
-- A hundred streams in a group of their own: sixty run on worker 52, the others wait.
INSERT INTO task_instance (workflow_instance_id, task_code, task_name, task_type, state, worker_group,
                           workflow_priority, task_priority, worker_id, started_at, is_plain, stream)
SELECT 4 * i + 1, 7, 'g', 'SHELL', CASE WHEN i <= 60 THEN 'RUNNING_EXECUTION' ELSE 'QUEUED' END, 'streams', 'MEDIUM', 'MEDIUM',
       CASE WHEN i <= 60 THEN 52 END, clock_timestamp(), false, '{}'
FROM generate_series(1, 100) AS i;
-- Ten of those that wait have failed, all on worker 51.
UPDATE task_instance SET attempt = 2, retries = 1 WHERE stream IS NOT NULL AND workflow_instance_id > 360;
INSERT INTO task_instance (workflow_instance_id, task_code, task_name, task_type, state, worker_group, flag,
                           workflow_priority, task_priority, worker_id, started_at, ended_at, is_plain, stream)
SELECT 4 * i + 1, 7, 'g', 'SHELL', 'FAILURE', 'streams', 'NO', 'MEDIUM', 'MEDIUM', 51, clock_timestamp(), clock_timestamp(),
       false, '{}'
FROM generate_series(91, 100) AS i;
-- Their tasks that stand for other workflows, and one that waits for another.
INSERT INTO task_instance (workflow_instance_id, task_code, task_name, task_type, state, worker_group,
                           workflow_priority, task_priority, started_at)
SELECT 4 * i, 3, 'c', 'SUB_PROCESS', 'RUNNING_EXECUTION', 'default', 'MEDIUM', 'MEDIUM', clock_timestamp()
FROM generate_series(1, 20) AS i;
INSERT INTO task_instance (workflow_instance_id, task_code, task_name, task_type, state, worker_group,
                           workflow_priority, task_priority, worker_id, started_at, ended_at)
SELECT 1000 + i, 1, 'a', 'FAKE', CASE WHEN i % 20 = 0 THEN 'FAILURE' ELSE 'SUCCESS' END, 'default', 'MEDIUM', 'MEDIUM', 51 + i % 4, clock_timestamp(), clock_timestamp()
FROM generate_series(1, 1000000) AS i;

-- Two pools, and a long line for one of them.
ALTER TABLE pool_line SET (autovacuum_enabled = off);
ALTER TABLE pool_resource SET (autovacuum_enabled = off);
INSERT INTO resource_pool (name) VALUES ('a'), ('b');
INSERT INTO pool_resource (pool_code, name) SELECT p.code, i::text FROM resource_pool p, generate_series(1, 600) AS i;
INSERT INTO task_instance (id, workflow_instance_id, task_code, task_name, task_type, state, worker_group, workflow_priority,
                           task_priority, is_plain, resources)
OVERRIDING SYSTEM VALUE
SELECT 5000000 + i, 999, 1 + i, 'a', 'FAKE', 'QUEUED', 'pooled', 'MEDIUM', 'MEDIUM', false, '{"a": 1}'
FROM generate_series(1, 5000) AS i;
INSERT INTO pool_line (pool_name, workflow_priority, workflow_instance_id, task_priority, task_instance_id, needed, needs,
                       worker_group)
SELECT 'a', 'MEDIUM', 999, 'MEDIUM', 5000000 + i, 1, '{"a": 1}', 'pooled' FROM generate_series(1, 5000) AS i;

-- The logs of most of what has ended are in the log store.
INSERT INTO stored_log (task_instance_id, size) SELECT id, 100 FROM task_instance WHERE state = 'SUCCESS' AND id % 10 > 0;
