"""Fires the schedules of this master's slot, by the database's clock.

The rows say what is due; this loop only polls. APScheduler wakes it for the next fire and a notification for a changed
schedule. It also polls periodically, so that a changed clock, a lost notification or a row changed by plain SQL costs
only a delay. When a master dies, the next owner of its slot continues from the rows. A schedule that cannot be read
gets a sentence into its `problem` and is paused until somebody changes it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import structlog
from apscheduler.executors.debug import DebugExecutor
from apscheduler.schedulers.asyncio import AsyncIOScheduler
from apscheduler.triggers.base import BaseTrigger

from dao.alerts import alerts
from dao.alerts.alerts import Missed
from dao.definitions import schedules
from dao.definitions.schedules import DueSchedules, Fire
from dao.postgres.errors import BadData
from master.membership.membership import Membership
from model.blame import LONG_S, Blame, Verdict
from model.cluster.master_settings import MasterSettings
from model.cluster.means import is_passing
from model.errors import Fenced, Refused, ShoalError
from model.ids import ScheduleId
from model.time.misfires import compute
from model.time.schedules import ScheduleRow, Timetable, stored_time
from node.life import Life
from node.threads import in_thread
from node.waiting import set_within
from registry.clock import boottime_s

log = structlog.get_logger()

DUE_BATCH = 200
"""How many schedules fire in one transaction."""
DUE_PAUSE_S = 0.01
"""Slightly more than the remaining time, so that the poll finds it due."""


@dataclass(frozen=True, slots=True)
class _Planned:
    """A fire, and since when fires before it were missed."""

    fire: Fire
    missed_since: datetime | None = None


class Schedules:
    """Fires what is due in this master's slot; `wake` is set when something may have become due."""

    def __init__(self, life: Life, membership: Membership, settings: MasterSettings) -> None:
        self.wake = asyncio.Event()
        self.any_online = True
        """Whether to query at all; the poller's one statement also finds out whether any schedule is ONLINE."""
        self._life = life
        self._membership = membership
        self._settings = settings
        self._blame: Blame[ScheduleId] = Blame(LONG_S)

    def changed(self) -> None:
        """Look for changes: a schedule was written."""
        self.any_online = True
        self.wake.set()

    async def run(self) -> None:
        """Fire until cancelled. Raises `Fenced`."""
        with _timer() as timer:
            while True:
                try:
                    if self.any_online:
                        self._set(timer, await self._fire_all())
                except Fenced:
                    raise
                except ShoalError as error:
                    # An unknown outcome too: a retry finds other values in the rows, and does nothing.
                    log.warning("schedules_not_fired", error=str(error))
                except (OSError, RuntimeError, MemoryError) as error:
                    if not is_passing(error):
                        raise
                    log.warning("schedules_not_fired", error=str(error))
                await set_within(self.wake, self._settings.look_every.total_seconds())

    async def _fire_all(self) -> float | None:
        """Fire what is due; returns seconds until the next fire, if there is one."""
        while True:
            slot = self._membership.slot
            async with self._life.database.reading() as connection:
                due_in_s = await schedules.next_due_in_s(connection, slot)
                if due_in_s is None or due_in_s > 0:
                    return due_in_s
                due = await schedules.due(connection, slot, DUE_BATCH)
            # In a thread: a cron rule with a distant next time may take longer than this master's other work can wait.
            planned = await in_thread(_compute_all, due) if due else []
            if not await self._fire(planned):
                # Others fire them or have locked the rows: those are left to the next poll, the others fire in time.
                return await self._life.database.read(schedules.next_due_in_s, slot, to_come=True)

    async def _fire(self, planned: Sequence[_Planned]) -> bool:
        """Fire a batch; returns whether any was ours. Schedules that the database refuses are found one by one, and
        paused if they are to blame."""
        if not planned:
            return False
        try:
            fired = await self._write(planned)
        except BadData as error:
            if len(planned) > 1:
                return any([await self._fire([each]) for each in planned])
            if self._blame.failed(planned[0].fire.row.id, boottime_s()) is Verdict.UNKNOWN:
                log.warning("schedule_waits", schedule=planned[0].fire.row.id, error=str(error))
                return False
            planned = [_Planned(Fire(planned[0].fire.row, (), None, str(error)))]
            fired = await self._write(planned)
        else:
            if fired:
                self._blame.handled()
        for id_ in fired:
            self._blame.drop(id_)
        for each in planned:
            row = each.fire.row
            if row.id in fired and each.missed_since is not None:
                since = each.missed_since.isoformat()
                log.warning("schedule_missed", schedule=row.id, since=since, rule=row.misfire, commands=fired[row.id])
            if row.id in fired and each.fire.problem is not None:
                log.warning("schedule_stopped", schedule=row.id, problem=each.fire.problem)
        return bool(fired)

    async def _write(self, planned: Sequence[_Planned]) -> dict[ScheduleId, int]:
        async with self._life.writing() as connection:
            fired = await schedules.fire(connection, [each.fire for each in planned])
            missed = [
                Missed(each.fire.row.id, each.missed_since, fired[each.fire.row.id])
                for each in planned
                if each.missed_since is not None and each.fire.row.id in fired
            ]
            if missed:
                await alerts.schedules_missed(connection, missed)
            return fired

    def _set(self, timer: AsyncIOScheduler, due_in_s: float | None) -> None:
        """Set the timer for the next fire, unless the next poll comes first."""
        if due_in_s is not None and due_in_s < self._settings.look_every.total_seconds():
            timer.add_job(self.wake.set, _After(due_in_s + DUE_PAUSE_S), id="next", replace_existing=True)


class _After(BaseTrigger):  # type: ignore[misc]  # APScheduler 3 has no types
    """Fires once, after a time span, so that the clocks of database and machine are never compared."""

    def __init__(self, seconds: float) -> None:
        self._span = timedelta(seconds=seconds)

    def get_next_fire_time(self, previous: datetime | None, now: datetime) -> datetime | None:
        """Called by APScheduler: aware, None = never again."""
        return None if previous else now + self._span


@contextmanager
def _timer() -> Iterator[AsyncIOScheduler]:
    """A running timer on the current loop. It fires late rather than not at all."""
    # It calls at once. The default makes a task of it, and tells of one that is cancelled as of an error; it would also
    # be imported here, while the master runs, from files that may not be readable then.
    executors = {"default": DebugExecutor()}
    jobs = {"misfire_grace_time": None, "coalesce": True}
    timer = AsyncIOScheduler(timezone=UTC, executors=executors, job_defaults=jobs)
    timer.start()
    try:
        yield timer
    finally:
        timer.shutdown(wait=False)


def _compute_all(due: DueSchedules) -> list[_Planned]:
    return [planned for row in due.rows if (planned := _compute(row, due.now)) is not None]


def _compute(row: ScheduleRow, now: datetime) -> _Planned | None:
    """Compute its next fire; None when this machine lacks a resource, which says nothing about the schedule."""
    try:
        table = Timetable.of(row)
        next_fire = stored_time(row.next_fire_at, "next_fire_at")
        last_fire = stored_time(row.last_fire_at, "last_fire_at")
        done = compute(table, now, next_fire, last_fire, stored_time(row.counts_from, "counts_from"))
    except Refused as error:
        return _Planned(Fire(row, (), None, str(error)))
    except Exception as error:  # noqa: BLE001 - an unexpected row must not stop the others
        if is_passing(error):
            log.warning("schedule_waits", schedule=row.id, error=str(error))
            return None
        return _Planned(Fire(row, (), None, f"it cannot be computed ({type(error).__name__}: {error}); change it"))
    problem = None if done.next_fire else table.why_exhausted
    return _Planned(Fire(row, done.fires, done.next_fire, problem), done.missed_since)
