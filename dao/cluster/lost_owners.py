"""Owners that are gone but still own unfinished work: parts of the SQL statements that do the failover.

An owner is gone unless the database has it as ALIVE or LEAVING in its role. This covers every value that a row can
hold: a node that was fenced or left, a node whose row was deleted, a worker's epoch where a master's belongs, a number
written by hand. The owners are read from the unfinished work, one index step for each, and not from `node`, which may
be long. A statement joins its rows with this list, and does not check the owner again after locking a row: an owner
newer than the statement is in no such list.
"""

from __future__ import annotations

DRIVEN_OR_FAILED_OVER = "('RUNNING_EXECUTION', 'READY_PAUSE', 'READY_STOP', 'FAILOVER')"
"""The states of a run that some master must drive. A run in SERIAL_WAIT has owner 0; its serial line starts it."""

# Index: workflow_instance_unfinished; for runs without an owner workflow_instance_ownerless.
GONE_MASTERS = """
    unfinished_master (id) AS (
        SELECT min(i.master_id) FROM workflow_instance i WHERE i.ended_at IS NULL AND i.master_id > 0
        UNION ALL
        SELECT (SELECT min(i.master_id) FROM workflow_instance i WHERE i.ended_at IS NULL AND i.master_id > m.id)
        FROM unfinished_master m WHERE m.id IS NOT NULL
    ), gone_master AS MATERIALIZED (
        SELECT m.id FROM unfinished_master m
        WHERE m.id IS NOT NULL
          AND (SELECT n.id FROM node n
               WHERE n.id = m.id AND n.kind = 'MASTER' AND n.state IN ('ALIVE', 'LEAVING')) IS NULL
        UNION ALL
        SELECT DISTINCT i.master_id FROM workflow_instance i
        WHERE i.master_id <= 0 AND i.state IN ('RUNNING_EXECUTION', 'READY_PAUSE', 'READY_STOP', 'FAILOVER')
    )"""
# Index: task_instance_running.
GONE_WORKERS = """
    running_worker (id) AS (
        SELECT min(t.worker_id) FROM task_instance t WHERE t.state IN ('DISPATCH', 'RUNNING_EXECUTION')
        UNION ALL
        SELECT (SELECT min(t.worker_id) FROM task_instance t
                WHERE t.state IN ('DISPATCH', 'RUNNING_EXECUTION') AND t.worker_id > w.id)
        FROM running_worker w WHERE w.id IS NOT NULL
    ), gone_worker AS MATERIALIZED (
        SELECT w.id FROM running_worker w
        WHERE w.id IS NOT NULL
          AND (SELECT n.id FROM node n
               WHERE n.id = w.id AND n.kind = 'WORKER' AND n.state IN ('ALIVE', 'LEAVING')) IS NULL
    )"""
