"""Which times of a schedule fire now, and which one comes next.

Everything is computed from the row and the database's time, never from a master's memory: the next master with the slot
continues where the last one stopped. A time later than the grace is missed, and handled by the misfire rule; one within
the grace fires normally. A schedule counts from the moment when it was created, or its timetable changed, even if a
master reads it later: earlier times never fire, all later ones count. Source: docs/guides/schedules.md.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import islice, takewhile

from model.choices import Misfire
from model.time.moments import TICK
from model.time.schedules import Timetable

FIRES_MAX = 100
"""The maximum number of fires of one schedule in one round. The rest follows in the next round; none is lost."""
_SECOND = timedelta(seconds=1)


@dataclass(frozen=True, slots=True)
class Computed:
    """The result of a round.

    `fires` are the times that get a command now, ascending. `next_fire` is the one after them, None when none is left;
    it may be in the past if there were more than `FIRES_MAX`. `missed_since` is the first missed time, None without
    one.
    """

    fires: tuple[datetime, ...]
    next_fire: datetime | None
    missed_since: datetime | None = None


def compute(
    table: Timetable,
    now: datetime,
    next_fire: datetime | None,
    last_fire: datetime | None,
    counts_from: datetime | None = None,
) -> Computed:
    """The fires of a schedule at `now`.

    Args:
        now: the database's time, aware.
        next_fire: the previous result, None for a new or changed schedule.
        last_fire: the last time that got a command; no time up to it fires again, even if clocks are set back.
        counts_from: when a new or changed schedule began; None = now. Times after it that have already passed are
            late or missed like any other.
    """
    if next_fire is None or (table.start is not None and next_fire < table.start):
        begin = min(now, counts_from) if counts_from else now
        next_fire = table.first_after(max(begin, last_fire) if last_fire else begin)
        if next_fire is None:
            return Computed((), None)
    if table.end is not None and next_fire > table.end:
        return Computed((), None)
    if next_fire > now:
        return Computed((), next_fire)
    latest_missed = now - table.grace - TICK
    missed_since = next_fire if next_fire <= latest_missed else None
    fires = list(islice(_fires(table, now, next_fire, latest_missed), FIRES_MAX + 1))
    if len(fires) > FIRES_MAX:
        return Computed(tuple(fires[:FIRES_MAX]), fires[FIRES_MAX], missed_since)
    return Computed(tuple(fires), table.first_after(now), missed_since)


def _fires(table: Timetable, now: datetime, first: datetime, latest_missed: datetime) -> Iterator[datetime]:
    """The times from `first` to `now` that get a command: those within the grace, and the missed ones of the rule."""
    if first > latest_missed or table.misfire is Misfire.FIRE_ALL:
        yield first
        yield from takewhile(lambda fire: fire <= now, table.after(first))
        return
    if table.misfire is Misfire.FIRE_ONCE:
        yield _latest(table, first, latest_missed)
    yield from takewhile(lambda fire: fire <= now, table.after(latest_missed))


def _latest(table: Timetable, first: datetime, until: datetime) -> datetime:
    """The latest fire time up to `until`; `first` is one of them.

    Binary search: stepping through a month of seconds would block the caller.
    """
    latest, bound = first, until
    while bound - latest >= _SECOND:
        middle = latest + (bound - latest) / 2
        following = table.first_after(middle)
        if following is not None and following <= until:
            latest = following
        else:
            bound = middle
    for following in takewhile(lambda fire: fire <= until, table.after(latest)):
        latest = following
    return latest
