"""News of running tasks besides their ends: reported progress, and whether streams are ready."""

from __future__ import annotations

from dataclasses import dataclass

from dao.postgres.database import FencedTransaction
from dao.postgres.errors import BadData
from dao.streams import stream_readiness
from dao.streams.stream_readiness import Probed
from dao.tasks import task_progress
from dao.tasks.task_progress import Reported
from model.ids import Epoch, TaskInstanceId
from worker.attempts.progress import ProgressBoard
from worker.attempts.readiness import ReadinessBoard


@dataclass(slots=True)
class Taken:
    """The news that one transaction writes."""

    progress: dict[TaskInstanceId, Reported]
    probed: dict[TaskInstanceId, Probed]


class News:
    """News that the database does not have yet."""

    def __init__(self) -> None:
        self.progress = ProgressBoard()
        self.readiness = ReadinessBoard()

    @property
    def is_there(self) -> bool:
        return self.progress.has_news or self.readiness.has_news

    def take(self) -> Taken:
        return Taken(self.progress.take(), self.readiness.take())

    def put_back(self, taken: Taken) -> None:
        """Put back what was not written; newer news take precedence."""
        self.progress.put_back(taken.progress)
        self.readiness.put_back(taken.probed)


async def record(connection: FencedTransaction, taken: Taken, worker: Epoch) -> None:
    """Write the news. Raises `BadData` for progress that cannot be written; the next round leaves it out."""
    if taken.progress:
        try:
            await task_progress.record(connection, list(taken.progress.values()), worker)
        except BadData:
            taken.progress.clear()
            raise
    if taken.probed:
        await stream_readiness.record(connection, list(taken.probed.values()), worker)
