"""Attempts of workers that are gone, or never existed. For any master."""

from __future__ import annotations

from collections.abc import Sequence

from dao.pools import pool_leases
from dao.postgres.database import FencedTransaction
from dao.postgres.notify import changed
from dao.postgres.pool import AsyncConnection
from dao.postgres.sql import Sql
from dao.tasks.requeue import put_back
from model.changes import Changes
from model.ids import TaskInstanceId

# Level-triggered, by any master: tasks of a worker that is gone, or never existed. One in DISPATCH was certainly not
# started.
_HOLD_LOST = Sql("""
    SELECT t.id, t.state = 'DISPATCH' AS unstarted, t.workflow_instance_id AS run FROM gone_workers() AS g
    JOIN task_instance t ON t.worker_id = g.id AND t.state IN ('DISPATCH', 'RUNNING_EXECUTION')
    WHERE t.id <> ALL(CAST(:without AS bigint[]))                                 -- index: task_instance_running
      AND (CAST(:only AS bigint) IS NULL OR t.id = CAST(:only AS bigint))
    LIMIT :limit FOR UPDATE OF t SKIP LOCKED   -- ORDER BY could make it walk all history by primary key
""")
# A task may be what its workers die of, and would take down one after another. A stream that ran for a while is none of
# that kind, and no task that has looked in vain. The event reaches the master that owns the run.
_LOSE = Sql("""
    WITH counted AS (
        SELECT t.id,
               (SELECT count(*) FROM task_instance b                              -- index: task_instance_attempt
                WHERE b.workflow_instance_id = t.workflow_instance_id AND b.task_code = t.task_code
                  AND b.attempt BETWEEN t.attempt - CAST(:attempts AS integer) AND t.attempt
                  AND (b.id = t.id OR starts_with(b.reason, :lost)) AND b.looks IS NULL
                  AND (b.stream IS NULL
                       OR b.started_at > coalesce(b.ended_at, clock_timestamp()) - interval '10 minutes')) AS workers
        FROM task_instance t WHERE t.id = ANY(CAST(:ids AS bigint[]))
    ), marked AS (
        UPDATE task_instance t
        SET state = CASE WHEN c.workers >= :workers_max THEN 'FAILURE' ELSE 'NEED_FAULT_TOLERANCE' END,
            reason = CASE WHEN c.workers >= :workers_max THEN :suspect ELSE :lost END, ended_at = clock_timestamp()
        FROM counted c WHERE t.id = c.id
        RETURNING t.workflow_instance_id, t.task_code, t.attempt, t.state
    )
    INSERT INTO task_event (workflow_instance_id, task_code, attempt, state, is_suspect)
    SELECT *, CASE WHEN state = 'FAILURE' THEN true END FROM marked ORDER BY 1, 2, 3
""")
WORKERS_MAX = 3
"""After the loss of so many workers that ran it, a task is suspect."""
ATTEMPTS_MAX = 20
"""So many attempts before a lost one are read."""
LOST = "its worker was lost"
SUSPECT = (
    f"{LOST}, after others that ran this task: it is suspect, and is not run again by itself; check how much memory "
    f"and data it needs, then rerun it"
)


async def mark_lost(
    connection: FencedTransaction,
    limit: int,
    without: Sequence[TaskInstanceId] = (),
    only: TaskInstanceId | None = None,
) -> int:
    """Mark up to `limit` attempts of workers that are gone as lost, and notify their owners. Returns how many.

    Leaves out those in `without`; or only the attempt `only`. One that was certainly not started is queued again, if
    its run continues. A task of which `WORKERS_MAX` workers were lost fails, and is not repeated.
    """
    rows = (await connection.execute(_HOLD_LOST, {"limit": limit, "without": list(without), "only": only})).all()
    await pool_leases.hold(connection, [row.id for row in rows])
    started = [row.id for row in rows if not row.unstarted]
    if started:
        values = {"workers_max": WORKERS_MAX, "attempts": ATTEMPTS_MAX, "lost": LOST, "suspect": SUSPECT}
        await connection.execute(_LOSE, {"ids": started, **values})
        await changed(connection, Changes(tasks={row.run for row in rows}))
    await put_back(connection, [TaskInstanceId(row.id) for row in rows if row.unstarted])
    return len(rows)


async def lost(connection: AsyncConnection, limit: int, without: Sequence[TaskInstanceId] = ()) -> list[TaskInstanceId]:
    """The attempts that `mark_lost` would mark."""
    rows = await connection.execute(_HOLD_LOST, {"limit": limit, "without": list(without), "only": None})
    return [TaskInstanceId(row.id) for row in rows.all()]
