"""Polls for unannounced work: on a timer, when the slot changed, and when an attempt's wait is over.

One statement a poll, so that an idle master costs next to nothing; the loops that it wakes read the tables again.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Sequence

import structlog

from dao.commands import waiting_work
from dao.commands.waiting_work import WaitingWork
from dao.postgres.database import FencedTransaction
from dao.postgres.notify import TASK, notify
from dao.tasks import approvals, task_events, task_timers
from master.claim.command_loop import CommandLoop
from master.claim.row_sets import RowSet
from master.drive.dependents import Dependents
from master.drive.driver import Driver
from master.membership.membership import Membership
from master.schedule_timer import Schedules
from master.streams import Streams
from model.backoff import Backoff
from model.cluster.low_water import FROM_FIRST, Marks, MarksOfLooks, Walks
from model.cluster.master_settings import MasterSettings
from model.cluster.slots import Slot
from model.errors import Fenced, ShoalError
from model.ids import TaskInstanceId
from model.runs.queue_places import Queued
from node.life import Life
from node.waiting import set_within
from registry.clock import boottime_s

log = structlog.get_logger()

DUE_BATCH = 1_000
DUE_PAUSE_S = 0.02
"""Slightly more than the remaining time, so that the poll finds it due."""


class Poller:
    """Wakes the command loop, the driver and the care of streams, and queues attempts whose time has come."""

    def __init__(
        self,
        life: Life,
        membership: Membership,
        driver: Driver,
        loop: CommandLoop,
        dependents: Dependents,
        schedules: Schedules,
        streams: Streams,
        settings: MasterSettings,
        poll: asyncio.Event,
    ) -> None:
        self._life = life
        self._membership = membership
        self._driver = driver
        self._loop = loop
        self._dependents = dependents
        self._schedules = schedules
        self._streams = streams
        self._settings = settings
        self._poll_now = poll
        self._walks = Walks()
        self._marks = MarksOfLooks()
        self._slot: Slot | None = None
        self._held_up = Backoff(DUE_PAUSE_S, settings.look_every.total_seconds())
        """Used while all due attempts are locked by other sessions, or quarantined."""
        self._due: RowSet[TaskInstanceId] = RowSet(
            life, "attempt", "queuing", "its wait is over and it cannot be queued", DUE_BATCH,
            find=task_timers.due, write=_queue,
        )  # fmt: skip
        self._undispatched: RowSet[TaskInstanceId] = RowSet(
            life, "attempt", "ending", "no worker took it in time and it cannot be ended", DUE_BATCH,
            find=task_timers.undispatched, write=task_timers.fail_undispatched,
        )  # fmt: skip
        self._unanswered: RowSet[TaskInstanceId] = RowSet(
            life, "approval", "timing_out", "its timeout is over and it cannot be ended", DUE_BATCH,
            find=approvals.due, write=approvals.end_late,
        )  # fmt: skip

    async def run(self) -> None:
        """Poll until cancelled. Raises `Fenced`."""
        while True:
            pause_s = self._settings.look_every.total_seconds()
            try:
                due_in_s = await self._poll()
                if due_in_s is not None:
                    pause_s = min(pause_s, max(0.0, due_in_s) + DUE_PAUSE_S)
            except Fenced:
                raise
            except ShoalError as error:
                log.warning("poll_failed", error=str(error))
            await set_within(self._poll_now, pause_s)

    async def _poll(self) -> float | None:
        """Returns seconds until the next waiting attempt is due; None if none waits."""
        began_s, slot = boottime_s(), self._membership.slot
        if slot != self._slot:
            self._slot = slot
            self._walks.rest(began_s)
            self._marks.rest()
            self._driver.low_water.rest(began_s)
        marks = self._marks.now if self._walks.are_due(began_s) else None
        if marks is not None and self._walks.are_of_all(began_s):
            marks = FROM_FIRST
        waiting = await self._life.database.read(
            waiting_work.work_waits,
            slot,
            self._settings.steal_after,
            self._settings.id_step,
            self._life.me.epoch,
            marks=marks,
        )
        if marks is not None:
            self._looked(waiting, marks, began_s)
        self._loop.notice(aged=waiting.aged, suspect=waiting.suspect)
        if waiting.schedules and not self._schedules.any_online:
            self._schedules.changed()
        self._schedules.any_online = waiting.schedules
        if waiting.dependents or self._driver.transactions.announces_ends:  # once more after the last end, to drop it
            self._dependents.walk_on()
        self._driver.transactions.announces_ends = waiting.dependents
        self._streams.notice(any_to_do=waiting.streams)
        if waiting.mine:
            self._loop.wake.set()
        if waiting.events is not None:
            self._driver.low_water.lower(waiting.events)
            self._driver.wake.set()
        if waiting.stray_events:
            await self._life.write(task_events.readdress)
        if waiting.due_in_s is not None and waiting.due_in_s <= 0:
            return await self._queue_due()
        self._held_up.reset()
        return waiting.due_in_s

    def _looked(self, waiting: WaitingWork, marks: Marks, began_s: float) -> None:
        """Update the marks after a search from these."""
        ended_s = boottime_s()
        self._walks.took(ended_s - began_s, ended_s, of_all=marks == FROM_FIRST)
        self._marks.looked(
            (waiting.oldest_s, waiting.events),
            Marks(waiting.now_s, self._driver.low_water.last),
            waiting.horizon,
            (began_s, ended_s),
        )
        self._driver.low_water.is_used = self._walks.are_long
        self._driver.low_water.settled = self._marks.now.event

    async def _queue_due(self) -> float | None:
        """Queue what is due; returns seconds until the next try, if it is before the next poll."""
        resumed = await self._life.write(task_timers.resume, DUE_BATCH)
        if resumed:
            log.warning("clock_set_back", attempts=resumed, so="they wait from now on for as long as was meant")
        queued, more_due = await self._due.write()
        failed, more_late = await self._undispatched.write()
        ended, more_unanswered = await self._unanswered.write()
        if more_due or more_late or more_unanswered or resumed == DUE_BATCH:
            return 0.0
        if queued or failed or ended:
            self._held_up.reset()
        due_in_s = await self._life.database.read(task_timers.next_due_in_s)
        # Due attempts that could not be queued are locked by another session, for an unknown time, or quarantined. The
        # others continue.
        pause_s = self._held_up.next_pause_s(random.random())  # noqa: S311 - jitter
        return min(pause_s, due_in_s)


async def _queue(
    connection: FencedTransaction, limit: int, without: Sequence[TaskInstanceId], only: TaskInstanceId | None
) -> int:
    queued = await task_timers.queue_due(connection, limit, without, only)
    if queued:
        await notify(connection, TASK, Queued(queued).hints)
    return len(queued)
