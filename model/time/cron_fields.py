"""The fields of a cron text, Quartz's (with seconds) or the ordinary five, translated to the syntax of `cronsim`.

cronsim reads five-field cron as Debian does. Quartz's extensions are translated here: its weekdays count from
Sunday = 1, `?`, `5/15`, ranges that wrap around (`FRI-MON`). Three things have no cronsim syntax and are stored beside
its text: the years, the working day nearest to a date (`15W`) and a day counted from the end of the month (`L-3`).
"""

from __future__ import annotations

import calendar
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from cronsim import CronSim, CronSimError

from model.errors import Refused

CRON_LENGTH_MAX = 1000
"""Longer than a text that lists all seconds, minutes, hours and days."""

_LEAP_YEAR = 2024
_A_MOMENT = datetime.fromisoformat("2024-01-01")


@dataclass(frozen=True, slots=True)
class _Kind:
    """A field: its name, its numbers, the names for them from the first on, and other allowed values."""

    name: str
    low: int
    high: int
    names: tuple[str, ...] = ()
    also: str = ""
    ahead: int = 0
    """The offset from cronsim's numbering."""

    @property
    def top(self) -> int:
        """The last number before they wrap around: 7 is Sunday again."""
        return 6 if self is _WEEKDAY else self.high

    @property
    def takes(self) -> str:
        """The allowed values, for an error message."""
        names = f" or {self.names[0]} to {self.names[-1]}" if self.names else ""
        return f"numbers from {self.low} to {self.high}{names}{self.also}"


_MONTHS = ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC")
_WEEKDAYS = ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT")

_SECOND = _Kind("second", 0, 59)
_MINUTE = _Kind("minute", 0, 59)
_HOUR = _Kind("hour", 0, 23)
_DAY = _Kind("day of month", 1, 31, also=", L and LW, or alone 15W or L-3")
_MONTH = _Kind("month", 1, 12, _MONTHS)
_WEEKDAY = _Kind("day of week", 0, 7, _WEEKDAYS, also=", 5L and 5#3")
_QUARTZ_WEEKDAY = _Kind("day of week", 1, 7, _WEEKDAYS, also=", 6L and 6#3 (1 is Sunday)", ahead=1)
_YEAR = _Kind("year", 1970, 2099)
_TIME = (_SECOND, _MINUTE, _HOUR)

_STEP = re.compile("[1-9][0-9]{0,3}")
_NEAREST = re.compile(r"([0-9]{1,2})W")
_BEFORE_LAST = re.compile(r"L-([0-9]{1,2})")
_CERTAIN_WEEKDAY = re.compile(r"([0-9]|[A-Z]{3})(L|#[1-5])")


@dataclass(frozen=True, slots=True)
class WorkingDay:
    """The day from Monday to Friday nearest to `day`, in the same month."""

    day: int

    def of(self, year: int, month: int) -> int | None:
        """The day in that month; None if the month is shorter."""
        weekday, last = calendar.monthrange(year, month)
        if self.day > last:
            return None
        match (weekday + self.day - 1) % 7:
            case 5:
                return self.day - 1 if self.day > 1 else 3
            case 6:
                return self.day + 1 if self.day < last else self.day - 2
            case _:
                return self.day

    @property
    def candidates(self) -> tuple[int, int]:
        """The first and last day that it can be."""
        return max(1, self.day - 2), min(31, self.day + 2)

    def __str__(self) -> str:
        return f"the working day nearest to day {self.day} of the month"


@dataclass(frozen=True, slots=True)
class BeforeLast:
    """The day this many days before the last of the month."""

    days: int

    def of(self, year: int, month: int) -> int | None:
        """The day in that month; None if the month is shorter."""
        day = calendar.monthrange(year, month)[1] - self.days
        return day if day > 0 else None

    @property
    def candidates(self) -> tuple[int, int]:
        """The first and last day that it can be."""
        return max(1, 28 - self.days), 31 - self.days

    def __str__(self) -> str:
        return f"the day {self.days} days before the last of the month"


@dataclass(frozen=True, slots=True)
class CronFields:
    """A parsed cron text."""

    sim: str
    """The part that cronsim can express: six fields."""
    words: str
    """The same without the limits of `day`, for the description in words."""
    day: WorkingDay | BeforeLast | None
    """The only day of the month that matches, among those in `sim`."""
    years: tuple[int, ...] | None
    """The only years that match, ascending; None is every year."""
    repeats: bool
    """Whether it repeats within the day (seconds, minutes or hours are `*`, `*/n` or `m/n`), or has fixed times."""


_NICKNAMES = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
}
"""As in Debian's crontab(5)."""


def read_cron(text: str) -> CronFields:
    """Parse the fields of `text`, or a nickname such as `@daily`. Raises `Refused`, naming the field."""
    if len(text) > CRON_LENGTH_MAX:
        raise Refused(f"the cron text is longer than {CRON_LENGTH_MAX} characters; use ranges such as 0-30/2")
    parts = _NICKNAMES.get(text.strip().lower(), text).upper().split()
    if parts[:1] == [text.strip().upper()] and text.strip().startswith("@"):
        raise Refused(f'cron "{text[:100]}": there is no such nickname; known are {", ".join(_NICKNAMES)}')
    if not 5 <= len(parts) <= 7:
        raise Refused(
            f'cron "{text[:100]}" must have 5 fields (minute hour day month weekday), or 6 or 7 as in Quartz (second'
            f" minute hour day month weekday [year]), not {len(parts)}"
        )
    try:
        return _read_five(parts) if len(parts) == 5 else _read_quartz(parts)
    except _Wrong as wrong:
        raise Refused(f'cron "{text[:100]}": {wrong}') from None


class _Wrong(Exception):
    """A field is invalid; the text is the rest of the error message."""


def _read_five(parts: Sequence[str]) -> CronFields:
    """As in Debian, a day must match both day fields if one begins with `*`, else either: cronsim checks the star."""
    minute, hour, day, month, weekday = parts
    if "?" in (day, weekday):
        raise _Wrong("? belongs to Quartz cron, which begins with seconds; write * here")
    rule = _day_rule(day)
    if rule and weekday != "*":
        raise _Wrong(f'day of month "{day}" cannot be joined with a day of week; write * for the day of week')
    return _fields(["0", minute, hour], day, rule, month, _field(_WEEKDAY, weekday), None)


def _read_quartz(parts: Sequence[str]) -> CronFields:
    second, minute, hour, day, month, weekday, *year = parts
    if day == weekday == "?":
        raise _Wrong("day of month and day of week are both ?; write * in one of them")
    day, weekday = ("*" if field == "?" else field for field in (day, weekday))
    if day != "*" and weekday != "*":
        raise _Wrong("day of month and day of week are both given, which Quartz cannot join; write ? in one of them")
    return _fields(
        [second, minute, hour],
        day,
        _day_rule(day),
        month,
        _field(_QUARTZ_WEEKDAY, weekday),
        _values(_YEAR, year[0]) if year and year[0] != "*" else None,
    )


def _fields(
    time: Sequence[str],
    day: str,
    rule: WorkingDay | BeforeLast | None,
    month: str,
    weekday: str,
    years: Sequence[int] | None,
) -> CronFields:
    clock = " ".join(_field(kind, part) for kind, part in zip(_TIME, time, strict=True))
    months = _field(_MONTH, month)
    days = "{}-{}".format(*rule.candidates) if rule else _field(_DAY, day)
    sim = f"{clock} {days} {months} {weekday}"
    possible = rule is None or any(rule.of(_LEAP_YEAR, number) for number in _values(_MONTH, month))
    try:
        CronSim(sim, _A_MOMENT)  # refuses 30 February; any start moment will do
    except CronSimError:
        possible = False
    if not possible:
        raise _Wrong(f'day of month "{day[:40]}" never comes in month "{month[:40]}"; choose a day that the month has')
    return CronFields(
        sim=sim,
        words=f"{clock} {'*' if rule else days} {months} {weekday}",
        day=rule,
        years=None if years is None else tuple(sorted(set(years))),
        repeats=any(map(_repeats, _TIME, time)),
    )


def _day_rule(part: str) -> WorkingDay | BeforeLast | None:
    if match := _NEAREST.fullmatch(part):
        return WorkingDay(_number(_DAY, match[1], part))
    if match := _BEFORE_LAST.fullmatch(part):
        if int(match[1]) > 30:
            raise _Wrong(f'day of month "{part}" goes further back than any month; write L-1 to L-30')
        return BeforeLast(int(match[1]))
    return None


def _field(kind: _Kind, part: str) -> str:
    """A field in cronsim's syntax."""
    return ",".join(_term(kind, term, part) for term in part.split(","))


def _term(kind: _Kind, term: str, part: str) -> str:
    if term == "*" or (kind is _DAY and term in ("L", "LW")):
        return term
    if kind is _QUARTZ_WEEKDAY and term == "L":
        return "6"  # L alone is the last day of the week, not of the month
    if kind.names == _WEEKDAYS and (certain := _CERTAIN_WEEKDAY.fullmatch(term)):
        return f"{_number(kind, certain[1], part) - kind.ahead}{certain[2]}"
    first, last, step = _span(kind, term, part)
    day = kind is _DAY or kind.names == _WEEKDAYS
    if term[0] == "*" or ((first, last) == (kind.low, kind.high) and not day):  # 1-31 is not *: see `_read_five`
        return f"*/{step}" if step > 1 else "*"
    if first > last:
        return ",".join(str(number - kind.ahead) for number in _numbers(kind, first, last, step))
    first, last = first - kind.ahead, last - kind.ahead
    if first == last:
        return str(first)
    return f"{first}-{last}/{step}" if step > 1 else f"{first}-{last}"


def _span(kind: _Kind, term: str, part: str) -> tuple[int, int, int]:
    """First, last and step; the first is greater than the last where the range wraps around."""
    base, slash, step = term.partition("/")
    begin, dash, end = base.partition("-")
    if slash and not (_STEP.fullmatch(step) and int(step) <= kind.high):
        raise _Wrong(f'{kind.name} "{part[:40]}": the step after / must be a number from 1 to {kind.high}')
    if base == "*" or (slash and not base):
        first, last = kind.low, kind.high
    else:
        first = _number(kind, begin, part)
        last = _number(kind, end, part) if dash else kind.top if slash else first
    if kind is _WEEKDAY and first == 7 != last:
        first = 0
    if kind is _YEAR and first > last:
        raise _Wrong(f'year "{part[:40]}" ends before it begins; write the earlier year first')
    return first, last, int(step) if slash else 1


def _numbers(kind: _Kind, first: int, last: int, step: int) -> list[int]:
    if first <= last:
        return list(range(first, last + 1, step))
    return [*range(first, kind.top + 1), *range(kind.low, last + 1)][::step]


def _values(kind: _Kind, part: str) -> list[int]:
    """All numbers of a field without special values such as L."""
    return [number for term in part.split(",") for number in _numbers(kind, *_span(kind, term, part))]


def _number(kind: _Kind, text: str, part: str) -> int:
    if text in kind.names:
        return kind.names.index(text) + kind.low
    number = int(text) if text.isascii() and text.isdigit() and len(text) <= 4 else -1
    if not kind.low <= number <= kind.high:
        raise _Wrong(f'{kind.name} "{part[:40]}" is not right at "{text[:40]}"; it takes {kind.takes}')
    return number


def _repeats(kind: _Kind, part: str) -> bool:
    """Whether a field of the time of day is a wildcard: `*`, `*/n`, `m/n`, or the whole range written out."""
    return any(("/" in term and "-" not in term) or _term(kind, term, part)[0] == "*" for term in part.split(","))
