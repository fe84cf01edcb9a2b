"""A stored schedule, and the times at which it fires."""

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

GRACE_S_MAX = 366 * 86_400.0


@dataclass(frozen=True, slots=True)
class ScheduleRow:
    """A schedule as stored: times as text, since a person may have written anything.

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
    """A schedule as a person defines it. A start option of None = the definition's own; times are aware."""

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
