"""Whether streams are ready, as their worker writes it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dao.postgres.database import FencedTransaction
from dao.postgres.statements import changing, statement
from model.changes import Changes
from model.ids import Epoch, TaskInstanceId, WorkflowInstanceId


@dataclass(frozen=True, slots=True)
class Probed:
    """What the probe of an attempt found."""

    id: TaskInstanceId
    run: WorkflowInstanceId
    attempt: int
    is_ready: bool


# The condition is that of the report of an end (`dao/tasks/task_claims.py`).
@changing(lambda probed: Changes(tasks={each.run for each in probed}))
@statement("""
    UPDATE task_instance t SET ready_at = CASE WHEN n.is_ready THEN clock_timestamp() END
    FROM unnest(CAST(:probed.id AS bigint[]), CAST(:probed.attempt AS integer[]), CAST(:probed.is_ready AS boolean[]))
         AS n (id, attempt, is_ready)
    WHERE t.id = n.id AND coalesce(t.attempt = n.attempt AND t.worker_id = :worker AND t.ended_at IS NULL, false)
""")
async def record(connection: FencedTransaction, probed: Sequence[Probed], worker: Epoch) -> None:
    """Write whether attempts are ready that still belong to this worker and have not ended."""
