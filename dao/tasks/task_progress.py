"""The progress in `task_instance`, as its worker writes it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dao.postgres.database import FencedTransaction
from dao.postgres.statements import statement
from model.ids import Epoch, TaskInstanceId


@dataclass(frozen=True, slots=True)
class Reported:
    """What an attempt reported last: `done` of `total`, or percent if that is None."""

    id: TaskInstanceId
    attempt: int
    done: float
    total: float | None
    text: str | None


# The condition is that of the report of an end (`dao/tasks/task_claims.py`).
@statement("""
    UPDATE task_instance t
    SET progress_done = n.done, progress_total = n.total, progress_text = n.text, progress_at = clock_timestamp()
    FROM unnest(CAST(:reported.id AS bigint[]), CAST(:reported.attempt AS integer[]),
                CAST(:reported.done AS double precision[]), CAST(:reported.total AS double precision[]),
                CAST(:reported.text AS text[])) AS n (id, attempt, done, total, text)
    WHERE t.id = n.id AND coalesce(t.attempt = n.attempt AND t.worker_id = :worker AND t.ended_at IS NULL, false)
""")
async def record(connection: FencedTransaction, reported: Sequence[Reported], worker: Epoch) -> None:
    """Write the progress of attempts that still belong to this worker and have not ended."""
