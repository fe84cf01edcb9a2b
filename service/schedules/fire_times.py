"""When schedules fire next, and which of them missed a fire, and why. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from heapq import merge
from itertools import chain, islice

from model.choices import Misfire
from model.errors import Refused
from model.time.cron import Cron
from model.time.moments import begin_of, end_of
from model.time.schedules import ScheduleRow, Timetable, stored_time, upcoming
from model.time.zones import zone
from service.schedules.schedule_answers import FireTime, NextFires, Preview

Placed = tuple[datetime, int, Timetable]
"""A fire time, the place of its schedule in the list, and its timetable."""
WAIT_MAX = timedelta(minutes=1)
"""A fire that is due for longer than this was fired by nobody."""


class MissedWhy(StrEnum):
    """Why a fire was missed."""

    NOT_FIRED = "NOT_FIRED"
    SKIPPED = "SKIPPED"
    STOPPED = "STOPPED"


@dataclass(frozen=True, slots=True)
class MissedFire:
    """A fire that did not happen. `due_at` is None if the schedule has no fire time that can be computed."""

    why: MissedWhy
    due_at: datetime | None
    reason: str


def preview(
    cron: str, time_zone: str, now: datetime, count: int, start: str | None = None, end: str | None = None
) -> Preview:
    """The next `count` times after `now` of a schedule that is not saved. Raises `Refused` if it cannot be read."""
    calendar = zone(time_zone)
    table = Timetable(
        Cron.parse(cron),
        calendar,
        begin_of(start, "start_time", calendar) if start is not None else None,
        end_of(end, "end_time", calendar) if end is not None else None,
    )
    fires = [FireTime.of(time, table) for time in upcoming(table, now, count)]
    return Preview(crontab=table.cron.text, rule=table.cron.in_words, time_zone=calendar.key, fires=fires)


def next_fires(rows: Sequence[ScheduleRow], now: datetime, each_max: int, all_max: int) -> NextFires:
    """The next times after `now` of several schedules: up to `each_max` of each one, and `all_max` of all."""
    faults: list[str] = []
    times: list[Iterator[Placed]] = []
    for place, row in enumerate(rows):
        try:
            times.append(_times(row, place, now, each_max))
        except Refused as error:
            faults.append(f"schedule {row.id}: {error}")
    found = islice(merge(*times, key=lambda each: each[:2]), all_max)
    return NextFires(
        fires=[FireTime.of(time, table, rows[place]) for time, place, table in found],
        faults=faults,
        offline=[row.id for row in rows if row.state == "OFFLINE"],
        schedules=len(rows),
    )


def _times(row: ScheduleRow, place: int, now: datetime, count: int) -> Iterator[Placed]:
    """Raises `Refused` at once if there is none."""
    table = Timetable.of(row)
    times = islice(table.after(now), count)
    first = next(times, None)
    if first is None:
        raise Refused(table.why_exhausted)
    return ((time, place, table) for time in chain([first], times))


def missed_fire(row: ScheduleRow, now: datetime) -> MissedFire | None:
    """The last fire of an ONLINE schedule, if it was missed; None = it was not."""
    if row.problem is not None:
        return MissedFire(MissedWhy.STOPPED, None, row.problem)
    try:
        table = Timetable.of(row)
        due_at = stored_time(row.next_fire_at, "next_fire_at")
        counts_from, last = stored_time(row.counts_from, "counts_from"), stored_time(row.last_fire_at, "last_fire_at")
    except Refused as error:
        return MissedFire(MissedWhy.STOPPED, None, str(error))
    if due_at is None:
        return MissedFire(MissedWhy.NOT_FIRED, None, "no master has computed when it fires; see `shoal master list`")
    if due_at < now - WAIT_MAX:
        return MissedFire(MissedWhy.NOT_FIRED, due_at, "no master has fired it; see `shoal master list`")
    if table.misfire is not Misfire.SKIP or counts_from is None:
        return None
    first = table.first_after(max(counts_from, last) if last else counts_from)
    if first is None or first >= min(due_at, now - table.grace):
        return None
    said = f"no master fired it within its grace of {table.grace.total_seconds():g} s, and its misfire rule is SKIP"
    return MissedFire(MissedWhy.SKIPPED, first, said)
