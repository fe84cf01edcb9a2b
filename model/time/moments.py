"""Parsing of dates and times written by people, in a zone.

`2026-01-31`, `2026-01-31 05:00`, `2026-01-31T05:00:00`, or with an offset, `2026-01-31T05:00:00+01:00`. A date alone
means the whole day: as a beginning its first moment, as an end its last. Without an offset the zone's wall clock
applies. Of a time that occurs twice the first is meant, and a time that the clock skips is moved by the gap's length.
"""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

from model.errors import Refused

YEAR_MIN, YEAR_MAX = 1900, 9000
"""Other years are typing errors, and near the ends of the calendar each step could overflow."""

TICK = timedelta(microseconds=1)
"""The resolution of a time."""


def begin_of(text: str, where: str, zone: ZoneInfo) -> datetime:
    """The given time, or the first moment of the given day, in UTC. Raises `Refused`, naming `where`."""
    read = _read(text, where)
    return _utc(read, zone) if isinstance(read, datetime) else midnight(read, zone)


def end_of(text: str, where: str, zone: ZoneInfo) -> datetime:
    """The given time, or the last moment of the given day, in UTC. Raises `Refused`, naming `where`."""
    read = _read(text, where)
    return _utc(read, zone) if isinstance(read, datetime) else midnight(read + timedelta(days=1), zone) - TICK


def midnight(day: date, zone: ZoneInfo) -> datetime:
    """The first moment of a day in `zone`, in UTC; not 00:00 where the clock skips it."""
    return local_time(day, time(), zone)


def local_time(day: date, at: time, zone: ZoneInfo) -> datetime:
    """That time of a day in `zone`, in UTC; moved by the gap's length where the clock skips it."""
    return _utc(datetime.combine(day, at), zone)


def _utc(moment: datetime, zone: ZoneInfo) -> datetime:
    return (moment if moment.tzinfo else moment.replace(tzinfo=zone)).astimezone(UTC)


def _read(text: str, where: str) -> date | datetime:
    text = text.strip()
    try:
        read = date.fromisoformat(text) if len(text) <= len("2026-01-31") else datetime.fromisoformat(text)
    except ValueError:
        raise Refused(f'{where} "{text[:40]}" is not a date or time; write 2026-01-31 or 2026-01-31T05:00:00') from None
    if not YEAR_MIN <= read.year <= YEAR_MAX:
        raise Refused(f"{where} {text[:40]} is too far away; use a year from {YEAR_MIN} to {YEAR_MAX}")
    return read
