"""When a schedule fires: cron, Quartz's with seconds or the ordinary five fields, in a time zone.

`cronsim` computes in wall-clock time only. The days on which a zone's clock changes are handled here: cronsim handles
them for five fields only, and loses fires where clocks change by half an hour. The rule is Debian cron's:

- Fixed times fire once. A time that the clock skips fires at the first moment after the gap. Of a time that occurs
  twice the first counts.
- Repeating times (seconds, minutes or hours are a wildcard) follow real time: they fire whenever the wall clock shows
  a matching time, in both occurrences of a repeated hour, and not at all for a skipped time.

No two fires are at the same instant.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

from cronsim import CronSim

from model.time.cron_fields import CronFields, read_cron

_SECOND = timedelta(seconds=1)
_DAY = timedelta(days=1)

_FIRST_YEAR, _LAST_YEAR = 1900, 9000
"""Nothing fires outside these years: near the ends of the calendar each step could overflow."""

_YEARS_OF_SILENCE_MAX = 50
"""The rarest fire, 29 February on a given weekday, comes every 28 years, or 40 around 2100; cronsim's limit."""


@dataclass(frozen=True, slots=True)
class Cron:
    """A cron rule that yields fire times."""

    text: str
    _fields: CronFields

    @classmethod
    def parse(cls, text: str) -> Cron:
        """Parse 5 fields (minute hour day month weekday, 0 and 7 are Sunday), or Quartz's 6 or 7 (second first, year
        last, 1 is Sunday).

        More lenient than Quartz in one respect: it accepts `*` where Quartz requires `?`. Raises `Refused`, naming the
        field.
        """
        return cls(" ".join(text.split()), read_cron(text))

    @property
    def rule(self) -> tuple[object, ...]:
        """The meaning, however it is written: `@daily` and `0 0 0 * * ?` are one rule."""
        return (self._fields.sim, self._fields.day, self._fields.years)

    @property
    def years(self) -> tuple[int, ...]:
        """The only years in which it fires, ascending; none if it fires in every year."""
        return self._fields.years or ()

    def after(self, moment: datetime, zone: ZoneInfo) -> Iterator[datetime]:
        """Fire times later than `moment`, ascending, computed lazily.

        Args:
            moment: aware, in any zone.
            zone: whose wall clock the rule refers to.

        Yields aware UTC. Ends after the last year of the rule, or when no fire is found in 50 years.
        """
        moment = max(moment.astimezone(UTC), datetime(_FIRST_YEAR, 1, 1, tzinfo=UTC))
        if moment.year > _LAST_YEAR:
            return iter(())
        return self._repeating(moment, zone) if self._fields.repeats else self._fixed(moment, zone)

    def between(self, start: datetime, end: datetime, zone: ZoneInfo) -> Iterator[datetime]:
        """Fire times after `start` and up to `end`: consecutive windows neither share nor miss a fire time.

        Args:
            start, end: aware.
            zone: as in `after`.
        """
        for fire in self.after(start, zone):
            if fire > end:
                return
            yield fire

    @property
    def in_words(self) -> str:
        """The rule as an English sentence, without a full stop."""
        fields = self._fields
        words = CronSim(fields.words, datetime(2024, 1, 1, tzinfo=UTC)).explain()
        if fields.day:
            words += f", only on {fields.day}"
        if fields.years:
            words += f", only in {_ranges(fields.years)}"
        return words

    def _fixed(self, moment: datetime, zone: ZoneInfo) -> Iterator[datetime]:
        last = moment
        for wall in _wall_times(self._fields, moment.astimezone(zone).replace(tzinfo=None)):
            fire = instant_of(wall, zone)
            if fire > last:  # else a repeated time, or the second time in one gap
                yield fire
                last = fire

    def _repeating(self, moment: datetime, zone: ZoneInfo) -> Iterator[datetime]:
        """Fire times of a repeating rule, between clock changes: there, wall clock and real time advance together."""
        begin: datetime | None = moment.replace(microsecond=0) + _SECOND
        while begin is not None:
            offset = _offset(begin, zone)
            wall_begin = begin.replace(tzinfo=None) + offset
            jump, searched_until = None, begin
            for wall in _wall_times(self._fields, wall_begin - _SECOND):
                fire = (wall - offset).replace(tzinfo=UTC)
                if fire > searched_until:  # a day ahead: a search for each fire costs more than the fire
                    searched_until = max(fire, begin + _DAY)
                    jump = _jump(begin, searched_until, zone)
                if jump is not None and jump <= fire:
                    break
                yield fire
                begin = fire
            else:
                jump = _jump(begin, begin + 2 * _DAY, zone)  # the rule's last hour may occur twice
            begin = jump


def _wall_times(fields: CronFields, after: datetime) -> Iterator[datetime]:
    """Matching wall-clock times, without a zone, later than `after`."""
    heard_of = after.year
    again = True
    while again:
        again = False
        for wall in CronSim(fields.sim, after):
            if wall.year > min(heard_of + _YEARS_OF_SILENCE_MAX, _LAST_YEAR):
                return
            if fields.years and wall.year not in fields.years:
                following = next((year for year in fields.years if year > wall.year), None)
                if following is None:
                    return
                heard_of = following
                after = datetime(following, 1, 1) - _SECOND  # noqa: DTZ001  # wall-clock time without a zone
            elif fields.day and wall.day != fields.day.of(wall.year, wall.month):
                after = wall.replace(hour=23, minute=59, second=59)
            else:
                heard_of = wall.year
                yield wall
                continue
            again = True  # skip ahead: stepping by seconds to 2099 takes forever
            break


def instant_of(wall: datetime, zone: ZoneInfo) -> datetime:
    """The first instant at which the clock shows `wall`, or the first after the gap if the clock skips it."""
    early = wall.replace(tzinfo=zone).astimezone(UTC)
    if early.astimezone(zone).replace(tzinfo=None) == wall:
        return early
    before = wall.replace(tzinfo=zone, fold=1).astimezone(UTC)  # the offset after the gap: an instant before it
    return _jump(before, early, zone) or early


def _jump(begin: datetime, end: datetime, zone: ZoneInfo) -> datetime | None:
    """The first instant after `begin` and up to `end` with another offset, searched day by day: two changes within one
    day that cancel out are missed."""
    offset = _offset(begin, zone)
    while begin < end:
        until = min(begin + _DAY, end)
        if _offset(until, zone) != offset:
            while until - begin > _SECOND:
                middle = begin + (until - begin) // 2
                middle = middle.replace(microsecond=0)
                begin, until = (middle, until) if _offset(middle, zone) == offset else (begin, middle)
            return until
        begin = until
    return None


def _offset(moment: datetime, zone: ZoneInfo) -> timedelta:
    return moment.astimezone(zone).utcoffset() or timedelta(0)


def _ranges(years: tuple[int, ...]) -> str:
    """Format years such as `2026 to 2028, 2030`."""
    breaks = [later for earlier, later in pairwise(years) if later > earlier + 1]
    parts = [
        (begin, max(year for year in years if year < end))
        for begin, end in pairwise([years[0], *breaks, years[-1] + 1])
    ]
    return ", ".join(str(first) if first == last else f"{first} to {last}" for first, last in parts)
