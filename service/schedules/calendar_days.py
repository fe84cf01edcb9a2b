"""When schedules fire on each day of a calendar. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import islice

from model.errors import Refused
from model.time.moments import TICK
from model.time.schedules import ScheduleRow, Timetable

SHOWN_MAX = 5
COUNTED_MAX = 100
"""Of one schedule and day so many fire times are shown, and counted."""
ALL_MAX = 30_000
"""So many fire times are computed in all, which takes about half a second."""


@dataclass(frozen=True, slots=True)
class DayFires:
    """The first fire times of a schedule on a day, how many follow, and whether there may be still more than that."""

    times: Sequence[datetime]
    more: int
    is_least: bool


@dataclass
class AllFires:
    """By the place of the day, and the place of the schedule. `until_day`: the first day that was not computed."""

    tables: dict[int, Timetable] = field(default_factory=dict)
    days: dict[tuple[int, int], DayFires] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)
    until_day: int | None = None


def fires_of_days(rows: Sequence[ScheduleRow], now: datetime, begins: Sequence[datetime], until: datetime) -> AllFires:
    """The fire times of schedules after `now`, by day.

    Args:
        rows: the schedules; those that are OFFLINE or have a problem do not fire.
        now: the database's time.
        begins: the beginnings of the days, aware.
        until: the end of the last one.
    """
    found = AllFires()
    for place, row in enumerate(rows):
        if row.state != "ONLINE" or row.problem is not None:
            continue
        try:
            found.tables[place] = Timetable.of(row)
        except Refused as error:
            found.faults.append(f"schedule {row.id}: {error}")
    nothing_before: dict[int, datetime] = {}
    left = ALL_MAX
    for day, (begin, end) in enumerate(zip(begins, [*begins[1:], until], strict=True)):
        if end <= now:
            continue
        for place, table in found.tables.items():
            if nothing_before.get(place, begin) >= end:
                continue
            if left <= 0:
                found.until_day = day
                return found
            times = []
            for time in islice(table.after(max(now, begin - TICK)), COUNTED_MAX + 1):
                left -= 1
                if time >= end:
                    nothing_before[place] = time
                    break
                times.append(time)
            else:
                if len(times) <= COUNTED_MAX:
                    nothing_before[place] = until  # none is left
            if times:
                counted = times[:COUNTED_MAX]
                found.days[day, place] = DayFires(
                    counted[:SHOWN_MAX], max(0, len(counted) - SHOWN_MAX), len(times) > COUNTED_MAX
                )
    return found
