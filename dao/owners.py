"""Who owns what is unfinished and is gone: parts of the statements that hand on what nodes left.

An owner is gone unless the database holds it ALIVE or LEAVING in its role. So whatever stands in a row is found: a node
that was fenced or left, one whose row is no longer there, a worker's epoch in a master's place, a number that somebody
wrote by hand. The owners are read from what is unfinished, one step in the index for each, and not from `node`, which
may be long. A statement joins its rows with this list, and never asks again for the row that it has locked: an owner
that is newer than the statement is in no such list.
"""

from __future__ import annotations

DRIVEN_OR_HANDED_ON = "('RUNNING_EXECUTION', 'READY_PAUSE', 'READY_STOP', 'FAILOVER')"
"""The states of a run that somebody must drive. One in SERIAL_WAIT has no owner (0), and is called by its line."""

# Index: workflow_instance_unfinished; of those without any owner workflow_instance_ownerless.
GONE_MASTERS = f"""
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
        WHERE i.master_id <= 0 AND i.state IN {DRIVEN_OR_HANDED_ON}
    )"""  # noqa: S608 - the states are a constant of this module
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
