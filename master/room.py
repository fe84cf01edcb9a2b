"""Which of the runs that a master drives take up room: those of which something is queued or runs on a worker.

One that only waits, for its children, for other workflows (DEPENDENT) or for a time, takes up none. Else masters would
wait for each other for ever: all of them full of runs whose children find no room.

What a worker takes up when its time has come is no event for the owner, so the times are kept here too. They are
hints, as all of this: a run more or less for a moment does no harm.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from master.runnable import WorkflowRunnable
from model.ids import TaskCode, WorkflowInstanceId


@dataclass(frozen=True, slots=True)
class Delay:
    """An attempt that is queued when so many minutes have passed."""

    instance: WorkflowInstanceId
    code: TaskCode
    attempt: int
    minutes: float


class Room:
    """Of one master. `waiting` are the driven runs that take up none."""

    def __init__(self) -> None:
        self.waiting: set[WorkflowInstanceId] = set()
        self._due: list[tuple[float, WorkflowInstanceId, TaskCode, int]] = []

    def look(self, runnable: WorkflowRunnable) -> bool:
        """See whether this one takes up room now; whether it has just stopped doing so."""
        id_ = runnable.instance.id
        if not runnable.only_waits:
            self.waiting.discard(id_)
            return False
        is_news = id_ not in self.waiting
        self.waiting.add(id_)
        return is_news

    def forget(self, id_: WorkflowInstanceId) -> None:
        """It is not driven any more."""
        self.waiting.discard(id_)

    def mind(self, delays: Iterable[Delay], now_s: float) -> None:
        """These wait for their time; `now_s` is of any steady clock."""
        for each in delays:
            heapq.heappush(self._due, (now_s + 60 * each.minutes, each.instance, each.code, each.attempt))

    def come_due(self, now_s: float, driven: Mapping[WorkflowInstanceId, WorkflowRunnable]) -> None:
        """See which times have come since."""
        while self._due and self._due[0][0] <= now_s:
            _, id_, code, attempt = heapq.heappop(self._due)
            if (runnable := driven.get(id_)) is not None:
                runnable.came_due(code, attempt)
                self.look(runnable)
