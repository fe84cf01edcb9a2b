"""Attempts of workers that are gone, or never existed. For any master."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import text

from dao.cluster.lost_owners import GONE_WORKERS
from dao.postgres.database import FencedTransaction
from dao.postgres.engine import AsyncConnection
from dao.postgres.notify import changed
from dao.tasks import pool_leases
from dao.tasks.requeue import put_back
from model.changes import Changes
from model.ids import TaskInstanceId

# Level-triggered, by any master: tasks of a worker that is gone, or never existed. One in DISPATCH was certainly not
# started.
_HOLD_LOST = text(f"""
    WITH RECURSIVE {GONE_WORKERS}
    SELECT t.id, t.state = 'DISPATCH' AS unstarted, t.workflow_instance_id AS run FROM gone_worker g
    JOIN task_instance t ON t.worker_id = g.id AND t.state IN ('DISPATCH', 'RUNNING_EXECUTION')
    WHERE t.id <> ALL(CAST(:without AS bigint[]))                                 -- index: task_instance_running
      AND (CAST(:only AS bigint) IS NULL OR t.id = CAST(:only AS bigint))
    LIMIT :limit FOR UPDATE OF t SKIP LOCKED   -- ORDER BY could make it walk all history by primary key
""")  # noqa: S608 - the parts are constants
# The event reaches the master that owns the run.
_LOSE = text("""
    WITH marked AS (
        UPDATE task_instance
        SET state = 'NEED_FAULT_TOLERANCE', ended_at = clock_timestamp(), reason = 'its worker was lost'
        WHERE id = ANY(CAST(:ids AS bigint[]))
        RETURNING workflow_instance_id, task_code, attempt, state
    )
    INSERT INTO task_event (workflow_instance_id, task_code, attempt, state) SELECT * FROM marked ORDER BY 1, 2, 3
""")


async def mark_lost(
    connection: FencedTransaction,
    limit: int,
    *,
    without: Sequence[TaskInstanceId] = (),
    only: TaskInstanceId | None = None,
) -> int:
    """Mark up to `limit` attempts of workers that are gone as lost, and notify their owners. Returns how many.

    Leaves out those in `without`; or only the attempt `only`. One that was certainly not started is queued again, if
    its run continues.
    """
    rows = (await connection.execute(_HOLD_LOST, {"limit": limit, "without": list(without), "only": only})).all()
    await pool_leases.hold(connection, [row.id for row in rows])
    started = [row.id for row in rows if not row.unstarted]
    if started:
        await connection.execute(_LOSE, {"ids": started})
        await changed(connection, Changes(tasks={row.run for row in rows}))
    await put_back(connection, [TaskInstanceId(row.id) for row in rows if row.unstarted])
    return len(rows)


async def lost(connection: AsyncConnection, limit: int, without: Sequence[TaskInstanceId] = ()) -> list[TaskInstanceId]:
    """The attempts that `mark_lost` would mark."""
    rows = await connection.execute(_HOLD_LOST, {"limit": limit, "without": list(without), "only": None})
    return [TaskInstanceId(row.id) for row in rows.all()]
