"""Nodes that have ended: whether they left work, and the deletion of their rows."""

from __future__ import annotations

from datetime import timedelta
from typing import NamedTuple

from dao.postgres.database import FencedTransaction
from dao.postgres.pool import AsyncConnection
from dao.postgres.statements import statement


class WorkLeft(NamedTuple):
    """What a master searches for now and then; one statement, since each master sends it all the time."""

    by_gone_nodes: bool
    """Nodes that are gone left work that needs failover."""
    in_lines: bool
    """Runs wait for their turn, perhaps in a line that nobody has called."""


# What `fail_over`, `mark_lost` and `drop_stale` would find, in one statement that takes no locks and wakes nobody. It
# reads the unfinished work of each owner that is gone. There are few events, so it checks the owner of each event.
@statement("""
    SELECT EXISTS (
               SELECT FROM gone_masters() AS g
               CROSS JOIN LATERAL (
                   SELECT min(i.id) AS id FROM workflow_instance i             -- index: workflow_instance_unfinished
                   WHERE i.master_id = g.id AND i.ended_at IS NULL
                     AND i.state IN ('RUNNING_EXECUTION', 'READY_PAUSE', 'READY_STOP', 'FAILOVER')
                     AND NOT EXISTS (SELECT FROM command c                      -- index: command_one_recover
                                     WHERE c.type = 'RECOVER_TOLERANCE_FAULT_PROCESS'
                                       AND c.workflow_instance_id = i.id)
               ) AS unfinished
               WHERE unfinished.id IS NOT NULL)
        OR EXISTS (SELECT FROM gone_workers())
        OR EXISTS (SELECT FROM stray_events() AS s WHERE NOT is_owned AND (has_ended OR run IS NULL)),
           (SELECT workflow_code FROM workflow_instance                           -- index: workflow_instance_turn
            WHERE state = 'SERIAL_WAIT' ORDER BY workflow_code LIMIT 1) IS NOT NULL
""")
async def work_left(connection: AsyncConnection) -> WorkLeft:
    """Whether any master has to do something that no other one will do. A hint: the caller checks again under locks."""


# In batches, oldest first. A node that still has unfinished work keeps its row until the failover of that work.
@statement("""
    WITH old AS MATERIALIZED (
        SELECT n.id FROM node n                                                  -- index: node_ended
        WHERE n.state IN ('LEFT', 'FENCED') AND n.ended_at < now() - CAST(:kept AS interval)
          AND (SELECT 1 FROM workflow_instance i WHERE i.master_id = n.id AND i.ended_at IS NULL LIMIT 1) IS NULL
          AND (SELECT 1 FROM task_instance t
               WHERE t.worker_id = n.id AND t.state IN ('DISPATCH', 'RUNNING_EXECUTION') LIMIT 1) IS NULL
        ORDER BY n.ended_at LIMIT :limit FOR UPDATE OF n SKIP LOCKED
    )
    DELETE FROM node WHERE id = ANY(ARRAY(SELECT id FROM old))
""")
async def delete_ended(connection: FencedTransaction, kept: timedelta, limit: int) -> int:
    """Delete up to `limit` nodes that ended more than `kept` ago and left nothing unfinished. Returns how many.

    Their epochs are not used again. A node without a row counts as gone, like a fenced one.
    """
