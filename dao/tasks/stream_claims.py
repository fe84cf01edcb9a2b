"""Streams as a worker claims them: in a transaction of their own, and only when some wait.

How many it takes is decided in `model/spread.py` from what is read here. Streams that need resources are claimed with
their leases (`dao/tasks/pool_claims.py`): here they only count for the workers that run them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta

from sqlalchemy import text

from dao.cluster.node_rows import SHOWN
from dao.postgres.database import FencedTransaction
from dao.postgres.notify import changed
from dao.tasks.task_claims import COLUMNS, ClaimedTask
from model.changes import Changes
from model.ids import Epoch

OVERDUE = timedelta(seconds=10)
"""A stream that has waited for so long is taken by any worker with a place, whoever's share it is."""


@dataclass(frozen=True, slots=True)
class GroupStreams:
    """The streams of a worker group: how many wait that need only a place, whether one of them has waited for too long,
    and how many each worker runs, those with resources too."""

    waiting: int
    is_overdue: bool
    running: Mapping[Epoch, int]


_COUNT = text("""
    SELECT worker_group, CASE WHEN state <> 'QUEUED' THEN worker_id END AS worker, count(*) AS streams,
           coalesce(bool_or(state = 'QUEUED' AND queued_at < clock_timestamp() - CAST(:overdue AS interval)), false)
               AS is_overdue
    FROM task_instance
    WHERE worker_group = ANY(CAST(:groups AS text[]))                               -- index: task_instance_stream
      AND stream IS NOT NULL AND state IN ('QUEUED', 'DISPATCH', 'RUNNING_EXECUTION')
      AND (state <> 'QUEUED' OR resources IS NULL)
    GROUP BY 1, 2
""")
_CLAIM = text(f"""
    WITH picked AS MATERIALIZED (
        SELECT best.id
        FROM unnest(CAST(:groups AS text[]), CAST(:limits AS integer[])) AS wanted (worker_group, most)
        CROSS JOIN LATERAL (
            SELECT id FROM task_instance t
            WHERE state = 'QUEUED' AND worker_group = wanted.worker_group           -- index: task_instance_stream
              AND stream IS NOT NULL AND state IN ('QUEUED', 'DISPATCH', 'RUNNING_EXECUTION') AND resources IS NULL
              AND (SELECT i.id FROM workflow_instance i WHERE i.id = t.workflow_instance_id) IS NOT NULL
            ORDER BY workflow_priority, workflow_instance_id, task_priority, id
            LIMIT wanted.most
            FOR UPDATE SKIP LOCKED
        ) AS best
        WHERE NOT EXISTS (SELECT FROM node n JOIN drain d ON d.kind = n.kind AND d.name = {SHOWN}
                          WHERE n.id = :worker)
    )
    UPDATE task_instance t
    SET state = CASE WHEN t.write_ahead THEN 'RUNNING_EXECUTION' ELSE 'DISPATCH' END, worker_id = :worker,
        started_at = CASE WHEN t.write_ahead THEN clock_timestamp() END, ready_at = NULL, handover = NULL
    FROM picked, workflow_instance i
    WHERE t.id = picked.id AND i.id = t.workflow_instance_id
    RETURNING {COLUMNS}
""")  # noqa: S608 - the columns are a constant


async def count(connection: FencedTransaction, groups: Sequence[str]) -> dict[str, GroupStreams]:
    """The streams of these groups that wait for a place or run; a group without any is missing."""
    rows = (await connection.execute(_COUNT, {"groups": list(groups), "overdue": OVERDUE})).all()
    found: dict[str, GroupStreams] = {}
    for group in {row.worker_group for row in rows}:
        of_group = [row for row in rows if row.worker_group == group]
        found[group] = GroupStreams(
            sum(row.streams for row in of_group if row.worker is None),
            any(row.is_overdue for row in of_group),
            {Epoch(row.worker): row.streams for row in of_group if row.worker is not None},
        )
    return found


async def claim(connection: FencedTransaction, limits: Mapping[str, int], worker: Epoch) -> list[ClaimedTask]:
    """Take up to so many queued streams of each group that need only a place, most urgent first; none for a worker that
    is drained."""
    values = {"groups": list(limits), "limits": list(limits.values()), "worker": worker}
    claimed = [ClaimedTask(*row) for row in (await connection.execute(_CLAIM, values)).all()]
    await changed(connection, Changes(tasks={task.workflow_instance_id for task in claimed}))
    return claimed
