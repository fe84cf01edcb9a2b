"""`stored_log`: which logs are in the log store, as workers write it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dao.postgres.database import FencedTransaction
from dao.postgres.pool import AsyncConnection
from dao.postgres.row_arrays import RowArrays
from dao.postgres.sql import Sql
from dao.postgres.statements import statement
from model.ids import TaskInstanceId
from model.logs.name import LogName
from model.runs.states import TaskState


@dataclass(frozen=True, slots=True)
class StoredLog:
    """A log whose copy is in the store. `size` is where it ends; None: the attempt wrote none. `first_byte` is where
    what is left of it begins; None: at 0."""

    id: TaskInstanceId
    size: int | None
    first_byte: int | None


@dataclass(frozen=True, slots=True)
class Wanted:
    """Of some logs those that are to be copied, and those of attempts that have not ended yet."""

    ended: set[TaskInstanceId]
    unfinished: set[TaskInstanceId]


# An attempt that returned to the queue may have run elsewhere, or on another day: then this is not its log.
_WANTED = Sql("""
    SELECT t.id, t.state
    FROM unnest(CAST(:task_instance_id AS bigint[]), CAST(:workflow_instance_id AS bigint[]), CAST(:date AS text[]))
         AS n (id, run, day)
    CROSS JOIN LATERAL (SELECT * FROM task_instance i WHERE i.id = n.id OFFSET 0) AS t    -- index: task_instance_pkey
    LEFT JOIN node w ON w.id = t.worker_id
    WHERE t.workflow_instance_id = n.run AND to_char(t.queued_at, 'YYYYMMDD') = n.day
      AND coalesce(w.name = :worker, true)
      AND (SELECT 1 FROM stored_log s WHERE s.task_instance_id = n.id) IS NULL            -- index: stored_log_pkey
""")
_NAMED = RowArrays(_WANTED)


async def wanted(connection: AsyncConnection, names: Sequence[LogName], worker: str) -> Wanted:
    """Which of these logs, which are on the disk of the worker of that name, are to be copied now or later."""
    rows = (await connection.execute(_WANTED, {**_NAMED.values(names), "worker": worker})).all()
    ended = {TaskInstanceId(row.id) for row in rows if TaskState(row.state).is_final}
    return Wanted(ended, {TaskInstanceId(row.id) for row in rows} - ended)


@statement("""
    WITH there AS MATERIALIZED (
        SELECT n.*
        FROM unnest(CAST(:stored.id AS bigint[]), CAST(:stored.size AS bigint[]), CAST(:stored.first_byte AS bigint[]))
             AS n (id, size, first_byte)
        WHERE (SELECT 1 FROM task_instance t WHERE t.id = n.id) IS NOT NULL               -- index: task_instance_pkey
    ), written AS (
        INSERT INTO stored_log (task_instance_id, size, first_byte) SELECT id, size, first_byte FROM there
        ON CONFLICT (task_instance_id) DO NOTHING
    )
    SELECT id FROM there
""")
async def record(connection: FencedTransaction, stored: Sequence[StoredLog]) -> set[TaskInstanceId]:
    """Record copies that are in the store; returns those whose attempts exist."""


@statement("DELETE FROM stored_log WHERE task_instance_id = ANY(CAST(:ids AS bigint[]))")
async def delete(connection: FencedTransaction, ids: Sequence[TaskInstanceId]) -> None:
    """Delete the rows of copies that were deleted."""
