"""Time expressions: `$[yyyyMMdd-1]` in a text is replaced by the schedule time, formatted in the schedule's zone.

Whole days, weeks and months are calendar steps: on a day of 23 or 25 hours `-1` is still yesterday. Parts of a day
(`-1/24`, an hour) are elapsed time. Anything else stays as it is, especially bash's `$[1+2]`; `$$[yyyy]` is a literal
`$[yyyy]`, and in a longer run of `$` the pairs before that stay. Source: docs/reference/parameters.md, after
DolphinScheduler. Two things differ from it: `year_week` gives the year that the week belongs to (1 January 2022 is in
2021-52; DolphinScheduler gives 2022-52, as in December), and parts of a day are exact, where DolphinScheduler truncates
at each division.
"""

from __future__ import annotations

import calendar
import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from model.time.arithmetic import calculate
from model.time.intervals import Interval, NoInterval
from model.time.java_dates import java_date

EXPRESSION_LENGTH_MAX = 1000
"""Longer texts are not expressions: two brackets far apart enclose something else."""

_EXPRESSION = re.compile(rf"(?<!\$)((?:\$\$)*)\$(\$?)\[([^\[\]\n]{{1,{EXPRESSION_LENGTH_MAX}}})\]")
_CALL = re.compile(r"([a-z_]+)\((.*)\)")
_OF_INTERVAL = re.compile(r"interval_(start|end)\((.*)\)")
_QUOTED = re.compile("'[^']*'")
_DIGIT = re.compile("[0-9]")
_SUM = re.compile(r"[-+*/()0-9 ]+")
_SECONDS = re.compile("([0-9]{4})" + "([0-9]{2})" * 5)

_MINUTES_A_DAY = 1440


def replace_time_expressions(text: str, at: datetime, zone: ZoneInfo, interval: Interval | None = None) -> str:
    """`text` with each `$[...]` that is a time expression replaced.

    Args:
        text: of any size; the time needed is linear in it.
        at: the schedule time, aware.
        zone: the schedule's zone, in which it is computed and formatted.
        interval: of the run, None if it has none.
    Raises:
        NoInterval: an expression is about the interval, and there is none.
    """

    def replaced(match: re.Match[str]) -> str:
        before, escaped, expression = match.groups()
        value = time_expression(expression, at, zone, Interval(at, at) if escaped else interval)
        if value is None:
            return match.group()
        return match.group()[1:] if escaped else before + value

    return _EXPRESSION.sub(replaced, text)


def time_expression(expression: str, at: datetime, zone: ZoneInfo, interval: Interval | None = None) -> str | None:
    """The value of the text between the brackets; None if it is not a time expression or leaves the years 1 to 9999.

    Args:
        expression: such as `yyyy-MM-dd HH:mm:ss-1/24`, `add_months(yyyyMMdd,-12*2)`, `timestamp(yyyyMMdd000000)`.
        at: the schedule time, aware.
        zone: the schedule's zone.
        interval: of the run; `interval_start(...)` is what stands in the parentheses, at its start.
    Raises:
        NoInterval: the expression is about the interval, and there is none.
    """
    if len(expression) > EXPRESSION_LENGTH_MAX:
        return None
    if of_interval := _OF_INTERVAL.fullmatch(expression):
        return _of_interval(of_interval[1] == "start", of_interval[2], at, zone, interval)
    try:
        moment = at.astimezone(zone)
        call = _CALL.fullmatch(expression)
        match call.groups() if call else None:
            case ("timestamp", inner):
                return _timestamp(inner, moment)
            case ("year_week", inner):
                return _year_week(inner, moment)
            case _:
                return _written(_target(expression, moment))
    except (OverflowError, ValueError):  # out of the calendar: datetime raises one or the other
        return None


def _of_interval(of_start: bool, inner: str, at: datetime, zone: ZoneInfo, interval: Interval | None) -> str | None:
    if interval is not None:
        return time_expression(inner, interval.start if of_start else interval.end, zone)
    if time_expression(inner, at, zone) is not None:
        raise NoInterval(f"$[interval_{'start' if of_start else 'end'}({inner})]")
    return None


Target = tuple[str, datetime]
"""A pattern, and the aware moment to format with it."""


def _written(target: Target | None) -> str | None:
    return None if target is None else java_date(*target)


def _target(expression: str, moment: datetime) -> Target | None:
    call = _CALL.fullmatch(expression)
    if call and call[1] in _STEPS:
        read = _arguments(call[2])
        return read and (read[0], _on_calendar(moment, lambda wall: _STEPS[call[1]](wall, read[1])))
    if call and call[1] in _DAYS_AGO:
        return call[2], _on_calendar(moment, lambda wall: wall - timedelta(days=_DAYS_AGO[call[1]]))
    return _shifted(expression, moment)


# ------------------------------------------------------------------------------------------- pattern and days


def _shifted(expression: str, moment: datetime) -> Target | None:
    """A pattern with or without `±days`.

    A pattern may contain + and - itself. As in DolphinScheduler the last + decides, or without one the last -: if a
    digit follows, it is a number of days (`yyyy-MM-dd-1`), else it belongs to the pattern (`yyyy-MM-dd`).
    """
    outside = _QUOTED.sub(lambda quoted: "'" * len(quoted[0]), expression)
    for sign in "+-":
        place = _last_outside_parentheses(outside, sign)
        after = expression[place + 1 :]
        if place >= 0 and (_DIGIT.match(after) or (after[:1] == "(" and _SUM.fullmatch(after))):
            moved = _move(sign, after, moment)
            return None if moved is None else (expression[:place], moved)
    return expression, moment


def _last_outside_parentheses(text: str, sign: str) -> int:
    """The index of the last `sign` outside parentheses; -1 if there is none."""
    depth = 0
    for place in range(len(text) - 1, -1, -1):
        if text[place] == ")":
            depth += 1
        elif text[place] == "(":
            depth -= 1
        elif text[place] == sign and not depth:
            return place
    return -1


def _move(sign: str, amount: str, moment: datetime) -> datetime | None:
    """`amount` days from `moment`; if it contains a division, elapsed time in whole minutes."""
    before, slash, divisor = amount.partition("/")
    whole = before.count("(") == before.count(")")  # the first / divides everything before it: 1+2/24 is 3 hours
    days = calculate(f"({before})/{divisor}" if slash and whole else amount)
    if days is None:
        return None
    if sign == "-":
        days = -days
    if slash:
        return (moment.astimezone(UTC) + timedelta(minutes=int(days * _MINUTES_A_DAY))).astimezone(moment.tzinfo)
    return _on_calendar(moment, lambda wall: wall + timedelta(days=int(days)))


def _on_calendar(moment: datetime, step: Callable[[datetime], datetime]) -> datetime:
    """`moment` after a step of its wall clock and calendar, which ignores clock changes.

    A time that the clock skips is moved forward by the gap, as in Java (02:30 becomes 03:30), but never to another
    date: the day before 31 December 2011 in Apia is the 30th, although Apia skipped it.
    """
    wall = moment.replace(tzinfo=None, fold=0)
    aimed = step(wall)
    if aimed == wall:
        return moment  # of a repeated 01:30 the second one stays the second
    aware = aimed.replace(tzinfo=moment.tzinfo)
    existing = aware.astimezone(UTC).astimezone(moment.tzinfo)
    return existing if existing.date() == aware.date() else aware


# -------------------------------------------------------------------------------------------------- functions


def _arguments(inner: str) -> tuple[str, int] | None:
    """Split `format,number`; the number defaults to 0."""
    pattern, comma, number = inner.rpartition(",")
    if not comma:
        return inner, 0
    value = calculate(number)
    return None if value is None else (pattern, int(value))


def _add_months(wall: datetime, months: int) -> datetime:
    """The same day `months` later; in a month that is too short, its last day."""
    year, month = divmod(wall.year * 12 + wall.month - 1 + months, 12)
    if not 1 <= year <= 9999:
        raise OverflowError
    return wall.replace(year=year, month=month + 1, day=min(wall.day, calendar.monthrange(year, month + 1)[1]))


def _first_of_month(wall: datetime) -> datetime:
    return wall.replace(day=1)


def _last_of_month(wall: datetime) -> datetime:
    return wall.replace(day=calendar.monthrange(wall.year, wall.month)[1])


def _monday(wall: datetime) -> datetime:
    return wall - timedelta(days=wall.weekday())


def _sunday(wall: datetime) -> datetime:
    return wall + timedelta(days=6 - wall.weekday())


_STEPS: dict[str, Callable[[datetime, int], datetime]] = {
    "add_months": _add_months,
    "month_first_day": lambda wall, months: _add_months(_first_of_month(wall), months),
    "month_last_day": lambda wall, months: _last_of_month(_add_months(wall, months)),
    "week_first_day": lambda wall, weeks: _monday(wall) + timedelta(weeks=weeks),
    "week_last_day": lambda wall, weeks: _sunday(wall) + timedelta(weeks=weeks),
    "month_begin": lambda wall, days: _first_of_month(wall) + timedelta(days=days),
    "month_end": lambda wall, days: _last_of_month(wall) + timedelta(days=days),
    "week_begin": lambda wall, days: _monday(wall) + timedelta(days=days),
    "week_end": lambda wall, days: _sunday(wall) + timedelta(days=days),
}
"""Function -> its calendar step; the time of day stays."""

_DAYS_AGO = {"this_day": 0, "last_day": 1}


def _year_week(inner: str, moment: datetime) -> str | None:
    """Year and week, `2022-34` if the format contains a -, else `202234`. The number is the first day of the week (1 is
    Monday); the first week of a year is that with at least four days in it."""
    pattern, number = _arguments(inner if "," in inner else f"{inner},1") or ("", 0)
    if not 1 <= number <= 7 or java_date(pattern, moment) is None:
        return None
    today = moment.replace(tzinfo=None)
    fourth_day = today - timedelta(days=(today.isoweekday() - number) % 7 - 3)
    week = (fourth_day.timetuple().tm_yday - 1) // 7 + 1
    return f"{fourth_day.year:04}{'-' if '-' in pattern else ''}{week:02}"


def _timestamp(inner: str, moment: datetime) -> str | None:
    """Unix seconds of the formatted `inner`, which must be yyyyMMddHHmmss (`yyyyMMdd000000` is too)."""
    target = _target(inner, moment)
    digits = _SECONDS.fullmatch(_written(target) or "")
    if target is None or digits is None:
        return None
    written = datetime(*map(int, digits.groups()))  # type: ignore[arg-type]  # noqa: DTZ001  # six numbers: a wall clock
    moved = target[1].replace(microsecond=0)
    if written == moved.replace(tzinfo=None):
        return str(int(moved.timestamp()))  # not parsed from its text: a repeated hour would be ambiguous
    return str(int(written.replace(tzinfo=moment.tzinfo).timestamp()))
