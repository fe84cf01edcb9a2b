"""Offsets: the one time that an item of a DEPENDENT task asks for, computed from a schedule time in a workflow's zone.

`same`, `-23h`, `-1d`, `-1d12h`, `+30m`, `today 06:00`, `yesterday 06:00`, `-7d 06:00`. Days are calendar days: `-1d` is
the same clock time on the day before, 23 or 25 hours ago if the clock changed. Hours, minutes and seconds are elapsed
time. A time that the clock skips means the first moment after the gap; of one that occurs twice, the first counts, as
in crontab.

Only the run that is due at exactly this time counts, to the second, as with `execution_delta` of Airflow's
ExternalTaskSensor. A nearby run never stands in for it.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, time, timedelta
from zoneinfo import ZoneInfo

from model.errors import Refused
from model.logic.date_cycles import Interval
from model.time.cron import instant_of

DAYS_MAX = 62
"""The reach of an offset in both directions; shorter than the retention of runs that a task names."""
SAME = "same"
LAST = "last"
"""Not one time: the last run that a schedule or a backfill made for an earlier date."""
_EARLIEST = datetime(1, 1, 3, tzinfo=UTC)
"""The earliest time that can be searched."""
_NAMED = {"today": 0, "yesterday": -1}
_ELAPSED = re.compile(r"([+-])(?:(\d{1,4})d)?(?:(\d{1,5})h)?(?:(\d{1,6})m)?(?:(\d{1,7})s)?")
_AT_TIME = re.compile(r"(?:(today|yesterday)|([+-]\d{1,4})d) (\d{1,2}):(\d\d)(?::(\d\d))?")
_SECOND = timedelta(seconds=1)


def read_offset(text: str) -> str:
    """`text`, if it is an offset. Raises `ValueError` with the end of a sentence."""
    if text == LAST:
        return text
    days, _clock, elapsed = _read(text)
    if abs(timedelta(days=days) + elapsed) > timedelta(days=DAYS_MAX):
        raise ValueError(f"must be at most {DAYS_MAX} days away")
    return text


def moment(offset: str, at: datetime, zone: ZoneInfo) -> datetime:
    """The time of an offset, to the second, in UTC.

    Args:
        offset: as accepted by `read_offset`.
        at: the schedule time, aware.
        zone: the workflow's.
    Raises:
        Refused: the time lies outside the calendar, the years 1 to 9999.
    """
    days, clock, elapsed = _read(offset)
    try:
        if not days and clock is None:
            found = at.astimezone(UTC)
        else:
            wall = at.astimezone(zone).replace(tzinfo=None)
            day = wall.date() + timedelta(days=days)
            found = instant_of(datetime.combine(day, wall.time() if clock is None else clock), zone)
        return (found + elapsed).replace(microsecond=0)
    except (OverflowError, ValueError):
        raise Refused(f'"{offset}" cannot be computed from {at.isoformat()}; choose another schedule time') from None


def span_of(offset: str, at: datetime, zone: ZoneInfo) -> Interval:
    """The span in which the run of an offset is searched. Raises `Refused`, as `moment` does."""
    if offset == LAST:
        return _EARLIEST, at
    found = moment(offset, at, zone)
    return found, found + _SECOND


def _read(text: str) -> tuple[int, time | None, timedelta]:
    """Calendar days, a clock time if given, and elapsed time. Raises `ValueError`."""
    if text == SAME:
        return 0, None, timedelta()
    if found := _AT_TIME.fullmatch(text):
        name, days, hour, minute, second = found.groups()
        try:
            clock = time(int(hour), int(minute), int(second or 0))
        except ValueError:
            raise ValueError(f'has no time of the clock in "{text}"; write 00:00 to 23:59') from None
        return _NAMED[name] if name else int(days), clock, timedelta()
    found = _ELAPSED.fullmatch(text)
    if found and any(found.groups()[1:]):
        sign = -1 if found[1] == "-" else 1
        days, hours, minutes, seconds = (sign * int(part or 0) for part in found.groups()[1:])
        return days, None, timedelta(hours=hours, minutes=minutes, seconds=seconds)
    raise ValueError('must be "same", "last", an offset such as -23h, -1d or +30m, or a time such as "yesterday 06:00"')
