"""Which times of a schedule fire now, and which one comes next.

Everything is computed from the row and the database's time, never from a master's memory: the next master with the
slot continues where the last one stopped. A time that is later than the grace is missed, and the misfire rule decides
how it is handled; a late one within the grace fires normally. A schedule starts at the moment when it was created, or
when its timetable was changed, even if a master reads it later: earlier times never fire, all later ones count.
Source: docs/guides/schedules.md.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import islice, takewhile
from zoneinfo import ZoneInfo

from model.choices import FailureStrategy, Misfire, Priority, WarningType
from model.errors import Refused
from model.ids import ScheduleId
from model.parameters.parameters import parse_parameters
from model.time.cron import Cron
from model.time.moments import TICK, YEAR_MAX, YEAR_MIN
from model.time.zones import zone

FIRES_MAX = 100
"""The maximum number of fires of one schedule in one round. The rest follows in the next round; none is lost."""

GRACE_S_MAX = 366 * 86_400.0
_SECOND = timedelta(seconds=1)


@dataclass(frozen=True, slots=True)
class ScheduleRow:
    """A schedule as it is stored: times as text, since a person may have written anything.

    `workflow` is the name of its workflow in `project`, if the query asked for it and the workflow exists; `from_file`:
    the file of its workflow lists it.
    """

    id: ScheduleId
    workflow_code: int
    crontab: str
    time_zone: str
    start_time: str | None
    end_time: str | None
    state: str
    misfire: str
    misfire_grace_s: float
    next_fire_at: str | None
    last_fire_at: str | None
    problem: str | None
    updated_at: str
    counts_from: str
    workflow: str | None = None
    project: str | None = None
    from_file: bool = False


@dataclass(frozen=True, slots=True)
class ScheduleSpec:
    """A schedule as a person defines it. None in an option of the starts = the definition's own; times are aware."""

    crontab: str
    time_zone: str = "UTC"
    start_time: datetime | None = None
    end_time: datetime | None = None
    params: str = "{}"
    misfire: Misfire = Misfire.FIRE_ONCE
    misfire_grace_s: float = 60.0
    priority: Priority | None = None
    failure_strategy: FailureStrategy | None = None
    warning_type: WarningType | None = None
    alert_group: str | None = None
    worker_group: str | None = None
    environment: str | None = None

    @property
    def identity(self) -> tuple[object, ...]:
        """Equal for two schedules of one workflow that start the same runs at the same times. Raises `Refused`."""
        fires = (Cron.parse(self.crontab).rule, self.time_zone, self.start_time, self.end_time)
        return (*fires, parse_parameters(self.params, "params"))

    @property
    def table(self) -> Timetable:
        """Its timetable. Raises `Refused` if it cannot be parsed."""
        parse_parameters(self.params, "params")
        return Timetable(
            Cron.parse(self.crontab),
            zone(self.time_zone),
            self.start_time,
            self.end_time,
            self.misfire,
            _grace(self.misfire_grace_s),
        )

    def checked(self, now: datetime) -> Timetable:
        """Its timetable. Raises `Refused` if it cannot be parsed, or would never fire after `now`."""
        table = self.table
        if table.first_after(now) is None:
            raise Refused(table.why_exhausted)
        return table


@dataclass(frozen=True, slots=True)
class Timetable:
    """When a schedule fires. `start` and `end` are aware UTC, both inclusive, None = no limit."""

    cron: Cron
    zone: ZoneInfo
    start: datetime | None = None
    end: datetime | None = None
    misfire: Misfire = Misfire.FIRE_ONCE
    grace: timedelta = timedelta(seconds=60)

    @classmethod
    def of(cls, row: ScheduleRow) -> Timetable:
        """The timetable of a row. Raises `Refused` with the reason if it has none."""
        return cls(
            Cron.parse(row.crontab),
            zone(row.time_zone),
            stored_time(row.start_time, "start_time"),
            stored_time(row.end_time, "end_time"),
            Misfire(row.misfire),
            _grace(row.misfire_grace_s),
        )

    def after(self, moment: datetime) -> Iterator[datetime]:
        """Fire times later than `moment`, between start and end, ascending, aware UTC; computed lazily."""
        if self.start is not None:
            moment = max(moment, self.start - TICK)
        fires = self.cron.after(moment, self.zone)
        end = self.end
        return fires if end is None else takewhile(lambda fire: fire <= end, fires)

    def first_after(self, moment: datetime) -> datetime | None:
        """The first fire time later than `moment`, None when none is left."""
        return next(self.after(moment), None)

    @property
    def why_exhausted(self) -> str:
        """Why no fire time is left, as a sentence."""
        until = f" before its end, {self.end:%Y-%m-%d %H:%M:%S} UTC" if self.end else ""
        return f'no fire time of "{self.cron.text}" is left{until}; change it, or remove the schedule'


@dataclass(frozen=True, slots=True)
class Computed:
    """What a schedule does in a round.

    `fires` are the times that get a command now, ascending. `next_fire` is the one after them, None when none is left;
    it may be in the past if there were more than `FIRES_MAX`. `missed_since` is the first time that was later than the
    grace, None when none was.
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


def upcoming(table: Timetable, now: datetime, count: int) -> list[datetime]:
    """The next `count` fire times after `now`, aware UTC; fewer when fewer are left."""
    return list(islice(table.after(now), count))


def stored_time(text: str | None, field: str) -> datetime | None:
    """A time as the database writes it. Raises `Refused` for one that Python's calendar cannot represent: infinity."""
    if text is None:
        return None
    with suppress(ValueError, OverflowError):
        read = datetime.fromisoformat(text).astimezone(UTC)
        if YEAR_MIN <= read.year <= YEAR_MAX:
            return read
    raise Refused(f"{field} must be a time from the year {YEAR_MIN} to {YEAR_MAX}, not {text}")


def _grace(seconds: float) -> timedelta:
    if not 0 <= seconds <= GRACE_S_MAX:
        raise Refused(f"misfire_grace_s must be from 0 to {GRACE_S_MAX:.0f}, not {seconds}")
    return timedelta(seconds=seconds)


def _fires(table: Timetable, now: datetime, first: datetime, latest_missed: datetime) -> Iterator[datetime]:
    """The times from `first` to `now` that get a command: of the missed ones according to the rule, and all others."""
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
