"""Laws of every cron rule, in every zone: compared with checking each minute of the days around a jump."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from itertools import islice, pairwise
from zoneinfo import ZoneInfo, available_timezones

from hypothesis import given, settings
from hypothesis import strategies as st

from model.time.cron import Cron

MINUTE = timedelta(minutes=1)


@dataclass(frozen=True)
class Rule:
    """The numbers that fit, to be checked against every minute of a few days, and the same as text."""

    minutes: Sequence[int]
    hours: Sequence[int]
    days: Sequence[int]
    weekdays: Sequence[int]
    star_minute: bool
    star_hour: bool
    quartz: bool

    @property
    def repeats(self) -> bool:
        return self.star_minute or self.star_hour

    @property
    def text(self) -> str:
        minute = "*/7" if self.star_minute else _list(self.minutes)
        hour = "*" if self.star_hour else _list(self.hours)
        day = _list(self.days) or "*"
        if self.quartz:
            weekday = _list(number % 7 + 1 for number in self.weekdays) or "?"
            return f"0 {minute} {hour} {day if weekday == '?' else '?'} * {weekday} *"
        return f"{minute} {hour} {day} * {_list(self.weekdays) or '*'}"

    def fits(self, wall: datetime) -> bool:
        on_day = not self.days or wall.day in self.days
        on_weekday = not self.weekdays or wall.isoweekday() in self.weekdays
        either = not self.quartz and self.days and self.weekdays
        if self.quartz and self.weekdays:
            on_day = True
        return (
            wall.minute in (range(0, 60, 7) if self.star_minute else self.minutes)
            and (self.star_hour or wall.hour in self.hours)
            and (wall.day in self.days or wall.isoweekday() in self.weekdays if either else on_day and on_weekday)
        )


def _list(numbers: Iterable[int]) -> str:
    return ",".join(map(str, numbers))


def some(low: int, high: int, at_least: int = 1) -> st.SearchStrategy[list[int]]:
    return st.lists(st.integers(low, high), min_size=at_least, max_size=4, unique=True)


rules = st.builds(
    Rule,
    minutes=some(0, 59),
    hours=some(0, 4),  # clocks jump at night
    days=some(1, 31, at_least=0),
    weekdays=some(1, 7, at_least=0),
    star_minute=st.booleans(),
    star_hour=st.booleans(),
    quartz=st.booleans(),
)

JUMPS = [
    *(("America/New_York", day) for day in ("2026-03-08", "2026-11-01")),
    *(("Australia/Lord_Howe", day) for day in ("2026-04-05", "2026-10-04")),
    *(("America/Sao_Paulo", day) for day in ("2018-02-18", "2018-11-04")),
    *(("Africa/Casablanca", day) for day in ("2026-02-15", "2026-03-22")),
    *(("Antarctica/Troll", day) for day in ("2026-03-29", "2026-10-25")),  # two hours
    ("Pacific/Apia", "2011-12-30"),
    ("Asia/Pyongyang", "2015-08-15"),  # half an hour for good
    ("Asia/Kathmandu", "1986-01-01"),  # a quarter
    ("Europe/Dublin", "2026-10-25"),
    ("UTC", "2026-01-01"),
]


def wall_of(moment: datetime, zone: ZoneInfo) -> datetime:
    return moment.astimezone(zone).replace(tzinfo=None)


def by_the_rule(rule: Rule, start: datetime, end: datetime, zone: ZoneInfo) -> list[datetime]:
    """As `between`, by checking each minute."""
    minutes = [start + number * MINUTE for number in range(1, (end - start) // MINUTE + 1)]
    if rule.repeats:
        return [minute for minute in minutes if rule.fits(wall_of(minute, zone))]
    shown: set[datetime] = {wall_of(start - number * MINUTE, zone) for number in range(24 * 60)}
    fires = []
    newest = wall_of(start, zone)
    for minute in minutes:
        wall = wall_of(minute, zone)
        left_out = [newest + number * MINUTE for number in range(1, max(0, (wall - newest) // MINUTE))]
        if any(map(rule.fits, left_out)) or (wall not in shown and rule.fits(wall)):
            fires.append(minute)
        shown.add(wall)
        newest = max(newest, wall)
    return fires


@settings(max_examples=100)
@given(rules, st.sampled_from(JUMPS))
def test_fires_are_those_that_looking_at_each_minute_finds(rule: Rule, jump: tuple[str, str]) -> None:
    zone, day = ZoneInfo(jump[0]), date.fromisoformat(jump[1])
    start = datetime(day.year, day.month, day.day, tzinfo=UTC) - timedelta(days=1)
    end = start + timedelta(days=3)
    assert list(Cron.parse(rule.text).between(start, end, zone)) == by_the_rule(rule, start, end, zone)


moments = st.datetimes(
    datetime.fromisoformat("1950-01-01"), datetime.fromisoformat("2040-01-01"), timezones=st.just(UTC)
)
zones = st.sampled_from(sorted(available_timezones() - {"localtime"})).map(ZoneInfo)


@given(rules, moments, zones)
def test_fires_rise_and_fit_or_were_moved_out_of_a_gap(rule: Rule, moment: datetime, zone: ZoneInfo) -> None:
    fires = list(islice(Cron.parse(rule.text).after(moment, zone), 20))
    assert len(fires) == 20
    assert all(earlier < later for earlier, later in pairwise([moment, *fires]))
    for fire in fires:
        second_before = fire - timedelta(seconds=1)
        after_a_gap = wall_of(fire, zone) - wall_of(second_before, zone) > timedelta(seconds=1)
        assert rule.fits(wall_of(fire, zone)) or (after_a_gap and not rule.repeats)


@given(rules, moments, zones, st.integers(0, 10))
def test_asked_again_from_any_fire_the_others_follow(rule: Rule, moment: datetime, zone: ZoneInfo, number: int) -> None:
    cron = Cron.parse(rule.text)
    fires = list(islice(cron.after(moment, zone), 15))
    assert list(islice(cron.after(fires[number], zone), 14 - number)) == fires[number + 1 :]
