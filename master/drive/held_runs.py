"""The runs that a master holds in memory: which take up room, and which have run too long."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from datetime import timedelta

from master.drive.run_limit import Delay, Room
from master.drive.run_timeouts import Lengths
from master.drive.runnable import WorkflowRunnable
from model.ids import WorkflowInstanceId
from registry.clock import boottime_s


class HeldRuns:
    """Each run by its id.

    Args:
        wake: set when a timer of `lengths` has fired.
        room: set when there is room for other runs again, for one that has called `want_room`.
    """

    def __init__(self, wake: asyncio.Event, room: asyncio.Event, longest_run: timedelta | None) -> None:
        self.lengths = Lengths(wake, longest_run)
        self._room_made = room
        self._is_wanted = False
        self.failed_over: set[WorkflowInstanceId] = set()
        """Failed-over runs whose count of lost owners is not reset yet."""
        self._runnables: dict[WorkflowInstanceId, WorkflowRunnable] = {}
        self._room = Room()

    @property
    def running(self) -> int:
        """How many instances are driven now."""
        return len(self._runnables)

    @property
    def active(self) -> int:
        """How many of them take up room."""
        self._room.come_due(boottime_s(), self._runnables)
        return len(self._runnables) - len(self._room.waiting)

    def want_room(self) -> None:
        """Request `room` to be set as soon as a run ends or only waits."""
        self._is_wanted = True

    def _make_room(self) -> None:
        if self._is_wanted:
            self._is_wanted = False
            self._room_made.set()

    def hold(self, runnables: Iterable[WorkflowRunnable]) -> None:
        """Drive these from now on. Call it before the transaction that makes them commits, so that none of their events
        can come earlier; `drop` them if it fails."""
        for runnable in runnables:
            id_ = runnable.instance.id
            self._runnables[id_] = runnable
            self._room.check(runnable)
            self.lengths.watch(runnable)

    def drop(self, ids: Iterable[WorkflowInstanceId]) -> None:
        """Drop from memory what has ended, or may no longer match the rows."""
        before = len(self._runnables)
        for id_ in ids:
            self._runnables.pop(id_, None)
            self._room.drop(id_)
            self.lengths.drop(id_)
        if len(self._runnables) < before:
            self._make_room()

    def note_failovers(self, ids: Iterable[WorkflowInstanceId]) -> None:
        """Record a failover; the runs' counts of lost owners are reset when they progress."""
        self.failed_over.update(ids)

    def get(self, id_: WorkflowInstanceId) -> WorkflowRunnable | None:
        """The runnable of a run; None if it is not held."""
        return self._runnables.get(id_)

    def ids(self) -> set[WorkflowInstanceId]:
        """All ids: a copy, which takes milliseconds for many runs."""
        return set(self._runnables)

    def not_held(self, ids: Iterable[WorkflowInstanceId]) -> set[WorkflowInstanceId]:
        return {id_ for id_ in ids if id_ not in self._runnables}

    def wrote(self, touched: Iterable[WorkflowInstanceId], delays: Iterable[Delay]) -> None:
        """Update the room after these runs were written, and note attempts that wait for a time."""
        self._room.note(delays, boottime_s())
        known = [self._runnables[id_] for id_ in touched if id_ in self._runnables]
        if [runnable for runnable in known if self._room.check(runnable)]:
            self._make_room()
