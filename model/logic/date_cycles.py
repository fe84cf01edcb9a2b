"""Date cycles: the time spans that a DEPENDENT task checks, computed from a schedule time in a workflow's zone.

A cycle of several hours or days is one span for each, oldest first, and each must be satisfied by itself; so are this
week and this month, from their first day to the day of the schedule time. Spans are half-open, [start, end), in UTC,
and follow the wall clock: a day has 23 or 25 hours when the clock changes, a repeated hour is two hours, and a day that
a zone skipped (Samoa, 2011-12-30) has no span.

As in DolphinScheduler, except for last24Hours: there it runs from 01:00 of the previous day to 01:00, whatever the
hour; here it is the 24 hours before the current one, as last3Hours is the three.
"""

from __future__ import annotations

from calendar import monthrange
from datetime import UTC, date, datetime, time, timedelta
from enum import StrEnum
from zoneinfo import ZoneInfo

from model.errors import Refused


class DateCycle(StrEnum):
    """The names, as in DolphinScheduler."""

    CURRENT_HOUR = "currentHour"
    LAST_1_HOUR = "last1Hour"
    LAST_2_HOURS = "last2Hours"
    LAST_3_HOURS = "last3Hours"
    LAST_24_HOURS = "last24Hours"
    TODAY = "today"
    LAST_1_DAYS = "last1Days"
    LAST_2_DAYS = "last2Days"
    LAST_3_DAYS = "last3Days"
    LAST_7_DAYS = "last7Days"
    THIS_WEEK = "thisWeek"
    LAST_WEEK = "lastWeek"
    LAST_MONDAY = "lastMonday"
    LAST_TUESDAY = "lastTuesday"
    LAST_WEDNESDAY = "lastWednesday"
    LAST_THURSDAY = "lastThursday"
    LAST_FRIDAY = "lastFriday"
    LAST_SATURDAY = "lastSaturday"
    LAST_SUNDAY = "lastSunday"
    THIS_MONTH = "thisMonth"
    THIS_MONTH_BEGIN = "thisMonthBegin"
    THIS_MONTH_END = "thisMonthEnd"
    LAST_MONTH = "lastMonth"
    LAST_MONTH_BEGIN = "lastMonthBegin"
    LAST_MONTH_END = "lastMonthEnd"


Interval = tuple[datetime, datetime]
"""[start, end), aware, in UTC."""

_C = DateCycle
_HOURS = {_C.LAST_1_HOUR: 1, _C.LAST_2_HOURS: 2, _C.LAST_3_HOURS: 3, _C.LAST_24_HOURS: 24}
_DAYS = {_C.LAST_1_DAYS: 1, _C.LAST_2_DAYS: 2, _C.LAST_3_DAYS: 3, _C.LAST_7_DAYS: 7}
_WEEKDAYS = (
    _C.LAST_MONDAY,
    _C.LAST_TUESDAY,
    _C.LAST_WEDNESDAY,
    _C.LAST_THURSDAY,
    _C.LAST_FRIDAY,
    _C.LAST_SATURDAY,
    _C.LAST_SUNDAY,
)
_DAY = timedelta(days=1)
_HOUR = timedelta(hours=1)


def intervals(cycle: DateCycle, at: datetime, zone: ZoneInfo) -> list[Interval]:
    """The spans of a cycle, oldest first.

    Args:
        cycle: the cycle.
        at: the schedule time, aware.
        zone: the workflow's.
    Raises:
        Refused: a span lies outside the calendar, the years 1 to 9999.
    Source: docs/reference/tasks/dependent.md; DolphinScheduler's DependentUtils.
    """
    try:
        if cycle is DateCycle.CURRENT_HOUR or cycle in _HOURS:
            return _hours(at, zone, _HOURS.get(cycle, 0))
        first, last = _days(cycle, at.astimezone(zone).date())
        every = [first + _DAY * number for number in range((last - first).days + 1)]
        spans = [(_start_of_day(day, zone), _start_of_day(day + _DAY, zone)) for day in every]
    except (OverflowError, ValueError):
        raise Refused(f"{cycle} cannot be computed from {at.isoformat()}; choose a schedule time of our age") from None
    return [(start, end) for start, end in spans if start < end]


def _days(cycle: DateCycle, today: date) -> tuple[date, date]:
    """The first and last day of a cycle of days."""
    monday = today - _DAY * today.weekday()
    first = today.replace(day=1)
    last_of_month = today.replace(day=monthrange(today.year, today.month)[1])
    if cycle in _DAYS:
        return today - _DAY * _DAYS[cycle], today - _DAY
    if cycle in _WEEKDAYS:
        day = monday + _DAY * (_WEEKDAYS.index(cycle) - 7)
        return day, day
    if cycle is DateCycle.LAST_WEEK:
        return monday - 7 * _DAY, monday - _DAY
    if cycle in (DateCycle.LAST_MONTH, DateCycle.LAST_MONTH_BEGIN, DateCycle.LAST_MONTH_END):
        end = first - _DAY
        begin = end.replace(day=1)
        return (
            end if cycle is DateCycle.LAST_MONTH_END else begin,
            begin if cycle is DateCycle.LAST_MONTH_BEGIN else end,
        )
    return {
        DateCycle.TODAY: (today, today),
        DateCycle.THIS_WEEK: (monday, today),
        DateCycle.THIS_MONTH: (first, today),
        DateCycle.THIS_MONTH_BEGIN: (first, first),
        DateCycle.THIS_MONTH_END: (last_of_month, last_of_month),
    }[cycle]


def _start_of_day(day: date, zone: ZoneInfo) -> datetime:
    """The day's first moment. Where the clock skips midnight, the moment of the skip: the offset before it is used."""
    return datetime.combine(day, time(), zone).astimezone(UTC)


def _hours(at: datetime, zone: ZoneInfo, count: int) -> list[Interval]:
    """The `count` hours before the hour of `at`, or with 0 that hour."""
    start = _start_of_hour(at.astimezone(UTC), zone)
    if not count:
        return [(start, _end_of_hour(start, zone))]
    spans: list[Interval] = []
    for _ in range(count):
        before = _start_of_hour(start - timedelta(microseconds=1), zone)
        spans.insert(0, (before, start))
        start = before
    return spans


def _start_of_hour(at: datetime, zone: ZoneInfo) -> datetime:
    """The latest moment, not after `at`, when the wall clock showed a full hour.

    It takes more than one step only where the clock changed by part of an hour (Lord Howe Island: 30 minutes).
    """
    while past := _past_the_hour(at, zone):
        at -= past
    return at


def _end_of_hour(start: datetime, zone: ZoneInfo) -> datetime:
    end = start + _HOUR
    while past := _past_the_hour(end, zone):
        end += _HOUR - past
    return end


def _past_the_hour(at: datetime, zone: ZoneInfo) -> timedelta:
    wall = at.astimezone(zone)
    return timedelta(minutes=wall.minute, seconds=wall.second, microseconds=wall.microsecond)
