"""Which runs and attempts are gone, for the logs that workers keep of them. Reads only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dao.postgres.pool import AsyncConnection
from dao.postgres.sql import Sql
from dao.postgres.statements import statement
from model.ids import TaskInstanceId, WorkflowCode, WorkflowInstanceId

# A run above all that there are is not gone: the database is another one, or an older state of it.
_GONE = Sql("""
    SELECT id, goes_on IS NULL AS is_gone
    FROM (SELECT l.id, (SELECT i.ended_at IS NULL FROM workflow_instance i WHERE i.id = l.id) AS goes_on
          FROM unnest(CAST(:ids AS bigint[])) AS l (id)                           -- index: workflow_instance_pkey
          WHERE l.id < (SELECT max(id) FROM workflow_instance)) AS each
    WHERE goes_on IS DISTINCT FROM false
""")


@dataclass(frozen=True, slots=True)
class Runs:
    """Of some runs those that were deleted, and those that have not ended."""

    gone: set[WorkflowInstanceId]
    unfinished: set[WorkflowInstanceId]


async def gone(connection: AsyncConnection, ids: Sequence[WorkflowInstanceId]) -> Runs:
    """Which of these runs were deleted, and which have not ended."""
    rows = (await connection.execute(_GONE, {"ids": list(ids)})).all()
    return Runs({row.id for row in rows if row.is_gone}, {row.id for row in rows if not row.is_gone})


@statement("""
    SELECT l.id FROM unnest(CAST(:ids AS bigint[])) AS l (id)
    WHERE (SELECT i.workflow_code FROM workflow_instance i WHERE i.id = :run AND i.ended_at IS NULL) = :code
      AND l.id < (SELECT max(id) FROM (SELECT t.id FROM task_instance t              -- index: task_instance_attempt
                                       WHERE t.workflow_instance_id = :run OFFSET 0) AS own)
      AND (SELECT 1 FROM task_instance t WHERE t.id = l.id) IS NULL               -- index: task_instance_pkey
""")
async def gone_attempts(
    connection: AsyncConnection, run: WorkflowInstanceId, code: WorkflowCode, ids: Sequence[TaskInstanceId]
) -> set[TaskInstanceId]:
    """Those of these attempts of an unfinished run of this workflow that were deleted: old ones of its streams."""
