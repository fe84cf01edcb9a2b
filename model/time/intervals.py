"""The interval of a run: what a run of its schedule covers, from one fire time to the next.

A run that is due at a fire time T covers the time from the fire before T to T, so the intervals of a schedule have no
gaps and do not overlap. A run for a time between two fires, such as a start by hand, has the last whole interval
before. Only the crontab and its zone count: the first fire after a `start_time` has an interval too. Source:
docs/guides/schedules.md, after Airflow's data interval.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from itertools import islice, takewhile
from zoneinfo import ZoneInfo

from model.errors import Refused
from model.time.cron import Cron, instant_of
from model.time.moments import TICK
from model.time.zones import zone

_YEARS = range(1900, 9001)
"""The years with fire times (`model/time/cron.py`)."""
_SPAN_MAX = timedelta(days=366 * 60)
"""Longer than the longest silence of a rule."""
_SECOND = timedelta(seconds=1)
_STEPS_MAX = 64
"""How many fires are walked one by one; among more, the last is found by bisection."""

_cron = lru_cache(maxsize=1024)(Cron.parse)


@dataclass(frozen=True, slots=True)
class Interval:
    """From `start`, inclusive, to `end`, exclusive; aware."""

    start: datetime
    end: datetime

    @classmethod
    def of(cls, start: datetime | None, end: datetime | None) -> Interval | None:
        """The interval of a row, which has both times or neither."""
        return None if start is None or end is None else cls(start, end)


class NoInterval(Refused):
    """A text uses the interval of a run that has none; `written` is that text."""

    def __init__(self, written: str) -> None:
        self.written = written
        super().__init__(
            f"{written} has no value: only a run of a workflow with a schedule that has fired before has an interval; "
            f"add a schedule, or write another parameter"
        )


@dataclass(frozen=True, slots=True)
class FireRule:
    """When a schedule fires, as stored."""

    crontab: str
    time_zone: str


@lru_cache(maxsize=1024)  # many schedules fire at the same times
def interval_at(rule: FireRule, moment: datetime) -> Interval | None:
    """The interval that ends at `moment` if that is a fire time, else the last whole one before.

    None if the rule did not fire twice before, or cannot be read, which is reported where it fires.

    Args:
        moment: aware.
    """
    try:
        cron, calendar = _cron(rule.crontab), zone(rule.time_zone)
    except Refused:
        return None
    moment = moment.astimezone(UTC)
    if moment.year not in _YEARS:
        return None
    following = list(islice(cron.after(moment - TICK, calendar), 2))
    guess = following[1] - following[0] if len(following) == 2 else timedelta(days=1)
    end = moment if following[:1] == [moment] else _last_before(cron, calendar, moment, guess)
    start = None if end is None else _last_before(cron, calendar, end, guess)
    return None if end is None or start is None else Interval(start, end)


def is_latest(rule: FireRule, at: datetime, now: datetime) -> bool:
    """Whether the rule has no fire time after `at` that is due by `now`; an unreadable rule has none."""
    try:
        cron, calendar = _cron(rule.crontab), zone(rule.time_zone)
    except Refused:
        return True
    following = next(cron.after(at, calendar), None)
    return following is None or following > now


def _last_before(cron: Cron, calendar: ZoneInfo, moment: datetime, span: timedelta) -> datetime | None:
    """The last fire time earlier than `moment`; None if there was none. `span` guesses how long ago it was.

    A rule computes forwards only: each step goes back twice as far, from the end of its last year.
    """
    if cron.years:
        year = moment.astimezone(calendar).year
        last = max((each for each in cron.years if each <= year), default=None)
        if last is None:
            return None
        if last < year:
            moment = instant_of(datetime(last + 1, 1, 1), calendar)  # noqa: DTZ001  # wall-clock time without a zone
    while span <= _SPAN_MAX:
        fires = takewhile(lambda fire: fire < moment, cron.after(moment - span - TICK, calendar))
        if found := list(islice(fires, _STEPS_MAX)):
            return found[-1] if len(found) < _STEPS_MAX else _halved(cron, calendar, found[-1], moment)
        span *= 2
    return None


def _halved(cron: Cron, calendar: ZoneInfo, found: datetime, moment: datetime) -> datetime:
    """The last fire time earlier than `moment`, by bisection; `found` is one of them."""
    bound = moment
    while bound - found > _SECOND:
        middle = found + (bound - found) / 2
        fire = next(cron.after(middle - TICK, calendar), None)
        if fire is not None and fire < moment:
            found = fire
        else:
            bound = middle
    return found
