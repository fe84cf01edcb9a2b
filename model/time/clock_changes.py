"""Days on which a zone changes its clock, and the effect on fire times. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

from model.time.moments import midnight

_DAY, _SECOND = timedelta(days=1), timedelta(seconds=1)


@dataclass(frozen=True, slots=True)
class ClockChange:
    """A clock change within a day: at `at` it goes from `before` to `after`, both without a zone."""

    at: datetime
    before: datetime
    after: datetime

    @property
    def in_words(self) -> str:
        """The effect on fire times, as a sentence."""
        early, late = sorted((self.before, self.after))
        if self.after > self.before:
            return (
                f"{early:%H:%M} to {late:%H:%M} does not exist: a fixed time in it fires at {late:%H:%M}, "
                "a repeating one not"
            )
        return f"{early:%H:%M} to {late:%H:%M} comes twice: a fixed time in it fires once, a repeating one both times"


def length_of(day: date, zone: ZoneInfo) -> timedelta:
    return midnight(day + _DAY, zone) - midnight(day, zone)


def clock_change(day: date, zone: ZoneInfo) -> ClockChange | None:
    """The change of the clock within a day; None on a day of 24 hours."""
    begin, end = midnight(day, zone), midnight(day + _DAY, zone)
    if end - begin == _DAY:
        return None
    offset = _offset(begin - _SECOND, zone)
    begin -= _SECOND  # it may change at midnight
    while end - begin > _SECOND:
        middle = (begin + (end - begin) / 2).replace(microsecond=0)
        begin, end = (middle, end) if _offset(middle, zone) == offset else (begin, middle)
    return ClockChange(end, (end + offset).replace(tzinfo=None), (end + _offset(end, zone)).replace(tzinfo=None))


def _offset(moment: datetime, zone: ZoneInfo) -> timedelta:
    return moment.astimezone(UTC).astimezone(zone).utcoffset() or timedelta(0)
