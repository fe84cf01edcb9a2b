"""Fires the schedules of this master's slot, when the database's clock says so.

The rows say what is due; this loop only looks. APScheduler is the timer that wakes it for the next one, a notification
wakes it for a changed one, and now and then it looks by itself, so that a clock that was set, a lost notification or a
row changed by plain SQL cost a delay and nothing else. When a master dies, whoever has its slot goes on from the rows.
A schedule that cannot be read gets a sentence into its `problem` and rests until somebody changes it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import structlog
from apscheduler.executors.asyncio import AsyncIOExecutor
from apscheduler.schedulers.asyncio import AsyncIOScheduler
from apscheduler.triggers.base import BaseTrigger

from dao import nodes, schedules
from dao.errors import BadData
from dao.schedules import DueSchedules, Fire
from master.membership import Membership
from master.settings import MasterSettings
from model.errors import Fenced, Refused, ShoalError
from model.ids import ScheduleId
from model.means import is_passing
from model.schedules import ScheduleRow, Timetable, reckon, stored_time
from registry.life import Life
from registry.threads import in_thread
from registry.waiting import set_within

log = structlog.get_logger()

DUE_BATCH = 200
"""Most schedules fired in one transaction."""
DUE_PAUSE_S = 0.01
"""Slightly more than a due time, so that the look finds it over."""


@dataclass(frozen=True, slots=True)
class _Planned:
    """A fire, and since when times were missed before it."""

    fire: Fire
    missed_since: datetime | None = None


class Schedules:
    """Fires what is due in the slot of this master; `wake` is set when something may have become due."""

    def __init__(self, life: Life, membership: Membership, settings: MasterSettings) -> None:
        self.wake = asyncio.Event()
        self.any_online = True
        """Whether there is anything to ask for; the lookout sees in its one statement that there is not."""
        self._life = life
        self._membership = membership
        self._settings = settings

    def changed(self) -> None:
        """Somebody wrote a schedule."""
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
                    # An unknown outcome too: the same again finds other values in the rows, and does nothing.
                    log.warning("schedules_not_fired", error=str(error))
                except (OSError, RuntimeError, MemoryError) as error:
                    if not is_passing(error):
                        raise
                    log.warning("schedules_not_fired", error=str(error))
                await set_within(self.wake, self._settings.look_every.total_seconds())

    async def _fire_all(self) -> float | None:
        """Fire what is due; seconds until the next is, if any ever is."""
        while True:
            slot = self._membership.slot
            async with self._life.database.reading() as connection:
                due_in_s = await schedules.next_due_in_s(connection, slot)
                if due_in_s is None or due_in_s > 0:
                    return due_in_s
                due = await schedules.due(connection, slot, DUE_BATCH)
            # In a thread: one far-off cron rule may take longer than what else this master drives can wait.
            planned = await in_thread(_reckon_all, due) if due else []
            if not await self._fire(planned):
                # Others are at it, or hold the rows: those are for the next look, the others fire in their time.
                async with self._life.database.reading() as connection:
                    return await schedules.next_due_in_s(connection, slot, to_come=True)

    async def _fire(self, planned: Sequence[_Planned]) -> bool:
        """Fire a batch; whether any was ours. What the database refuses is found one by one, and rests."""
        if not planned:
            return False
        try:
            fired = await self._write([each.fire for each in planned])
        except BadData as error:
            if len(planned) > 1:
                return any([await self._fire([each]) for each in planned])
            planned = [_Planned(Fire(planned[0].fire.row, (), None, str(error)))]
            fired = await self._write([planned[0].fire])
        for each in planned:
            row = each.fire.row
            if row.id in fired and each.missed_since is not None:
                since = each.missed_since.isoformat()
                log.warning("schedule_missed", schedule=row.id, since=since, rule=row.misfire, commands=fired[row.id])
            if row.id in fired and each.fire.problem is not None:
                log.warning("schedule_rests", schedule=row.id, problem=each.fire.problem)
        return bool(fired)

    async def _write(self, fires: Sequence[Fire]) -> dict[ScheduleId, int]:
        async with self._life.database.writing() as connection:
            await nodes.hold_alive(connection, self._life.me)
            return await schedules.fire(connection, fires)

    def _set(self, timer: AsyncIOScheduler, due_in_s: float | None) -> None:
        """Have the timer wake us when the next one is due; one further off than the next look waits for that."""
        if due_in_s is not None and due_in_s < self._settings.look_every.total_seconds():
            timer.add_job(self._ring, _After(due_in_s + DUE_PAUSE_S), id="next", replace_existing=True)

    async def _ring(self) -> None:
        """A coroutine, since APScheduler runs a plain function in a thread."""
        self.wake.set()


class _After(BaseTrigger):  # type: ignore[misc]  # APScheduler 3 has no types
    """Once, after a span: from the database's time to the machine's without comparing the two clocks."""

    def __init__(self, seconds: float) -> None:
        self._span = timedelta(seconds=seconds)

    def get_next_fire_time(self, previous: datetime | None, now: datetime) -> datetime | None:
        """As APScheduler asks for it: aware, None = never again."""
        return None if previous else now + self._span


@contextmanager
def _timer() -> Iterator[AsyncIOScheduler]:
    """A running timer on the current loop. It wakes late rather than not at all."""
    # Its own default would be imported here, in the midst of a life, from files that may not be opened then.
    executors = {"default": AsyncIOExecutor()}
    jobs = {"misfire_grace_time": None, "coalesce": True}
    timer = AsyncIOScheduler(timezone=UTC, executors=executors, job_defaults=jobs)
    timer.start()
    try:
        yield timer
    finally:
        timer.shutdown(wait=False)


def _reckon_all(due: DueSchedules) -> list[_Planned]:
    return [planned for row in due.rows if (planned := _reckon(row, due.now)) is not None]


def _reckon(row: ScheduleRow, now: datetime) -> _Planned | None:
    """What it does now; None when this machine is short of something, which says nothing about the schedule."""
    try:
        table = Timetable.of(row)
        next_fire = stored_time(row.next_fire_at, "next_fire_at")
        last_fire = stored_time(row.last_fire_at, "last_fire_at")
        done = reckon(table, now, next_fire, last_fire, stored_time(row.counts_from, "counts_from"))
    except Refused as error:
        return _Planned(Fire(row, (), None, str(error)))
    except Exception as error:  # noqa: BLE001 - a row that nobody foresaw must not stop the others
        if is_passing(error):
            log.warning("schedule_waits", schedule=row.id, error=str(error))
            return None
        return _Planned(Fire(row, (), None, f"it cannot be reckoned ({type(error).__name__}: {error}); change it"))
    problem = None if done.next_fire else table.why_exhausted
    return _Planned(Fire(row, done.fires, done.next_fire, problem), done.missed_since)
