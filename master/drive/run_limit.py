"""Which of a master's runs count against its limit: those with an attempt that is queued or runs on a worker.

A run that only waits (for its children, for other workflows (DEPENDENT) or for a time) does not count. Otherwise
masters could deadlock: all of them full of runs whose children find no room.

The owner gets no event when an attempt's delay has passed, so the due times are also stored here. All of this is a
hint: being off by a run for a moment does no harm.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from master.drive.runnable import WorkflowRunnable
from model.ids import TaskCode, WorkflowInstanceId


@dataclass(frozen=True, slots=True)
class Delay:
    """An attempt that is queued after a delay."""

    instance: WorkflowInstanceId
    code: TaskCode
    attempt: int
    minutes: float


class Room:
    """The run limit of one master. `waiting` holds the driven runs that do not count against it."""

    def __init__(self) -> None:
        self.waiting: set[WorkflowInstanceId] = set()
        self._due: list[tuple[float, WorkflowInstanceId, TaskCode, int]] = []

    def check(self, runnable: WorkflowRunnable) -> bool:
        """Check whether this run counts now; return whether it has just stopped counting."""
        id_ = runnable.instance.id
        if not runnable.only_waits:
            self.waiting.discard(id_)
            return False
        is_news = id_ not in self.waiting
        self.waiting.add(id_)
        return is_news

    def drop(self, id_: WorkflowInstanceId) -> None:
        """Forget a run that is no longer driven."""
        self.waiting.discard(id_)

    def note(self, delays: Iterable[Delay], now_s: float) -> None:
        """Register delayed attempts; `now_s` is of any monotonic clock."""
        for each in delays:
            heapq.heappush(self._due, (now_s + 60 * each.minutes, each.instance, each.code, each.attempt))

    def come_due(self, now_s: float, driven: Mapping[WorkflowInstanceId, WorkflowRunnable]) -> None:
        """Process the delays that have passed since the last call."""
        while self._due and self._due[0][0] <= now_s:
            _, id_, code, attempt = heapq.heappop(self._due)
            if (runnable := driven.get(id_)) is not None:
                runnable.came_due(code, attempt)
                self.check(runnable)
