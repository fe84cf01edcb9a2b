"""What running tasks have to say besides their ends: progress that they report, and whether streams are ready."""

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
    """What is written by one transaction."""

    progress: dict[TaskInstanceId, Reported]
    probed: dict[TaskInstanceId, Probed]


class News:
    """What the database does not have yet."""

    def __init__(self) -> None:
        self.progress = ProgressBoard()
        self.readiness = ReadinessBoard()

    @property
    def is_there(self) -> bool:
        """Whether something is to be written."""
        return self.progress.has_news or self.readiness.has_news

    def take(self) -> Taken:
        """What is to be written now."""
        return Taken(self.progress.take(), self.readiness.take())

    def put_back(self, taken: Taken) -> None:
        """It was not written; what came since counts more."""
        self.progress.put_back(taken.progress)
        self.readiness.put_back(taken.probed)


async def record(connection: FencedTransaction, taken: Taken, worker: Epoch) -> None:
    """Write it. Raises `BadData` for a progress that cannot be written; the next round goes without it."""
    if taken.progress:
        try:
            await task_progress.record(connection, list(taken.progress.values()), worker)
        except BadData:
            taken.progress.clear()
            raise
    if taken.probed:
        await stream_readiness.record(connection, list(taken.probed.values()), worker)
