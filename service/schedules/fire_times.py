"""When schedules fire next. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from heapq import merge
from itertools import chain, islice

from model.errors import Refused
from model.time.cron import Cron
from model.time.moments import begin_of, end_of
from model.time.schedules import ScheduleRow, Timetable, upcoming
from model.time.zones import zone
from service.schedules.schedule_answers import FireTime, NextFires, Preview

Placed = tuple[datetime, int, Timetable]
"""A fire time, the place of its schedule in the list, and its timetable."""


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
