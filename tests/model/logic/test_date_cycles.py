"""Date cycles: their spans in every zone, also when the clock is put forward or back."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo, available_timezones

import pytest
from hypothesis import given
from hypothesis import strategies as st

from model.errors import Refused
from model.logic.date_cycles import DateCycle, Interval, intervals
from tests.every import every

ZONES = sorted(available_timezones())
zones = st.sampled_from(ZONES) | st.sampled_from(["Europe/Berlin", "Australia/Lord_Howe", "America/Sao_Paulo"])
times = st.datetimes(datetime(2012, 1, 1), datetime(2036, 12, 31), timezones=st.just(UTC))  # noqa: DTZ001

BERLIN = ZoneInfo("Europe/Berlin")


def local(cycle: str, at: str, zone: ZoneInfo = BERLIN) -> list[str]:
    spans = intervals(DateCycle(cycle), datetime.fromisoformat(at).replace(tzinfo=zone), zone)
    assert all(moment.tzinfo is UTC for span in spans for moment in span)
    return [" ".join(moment.astimezone(zone).strftime("%m-%d/%H:%M") for moment in span) for span in spans]


def days(cycle: str, at: str) -> list[str]:
    """The days, each checked to be whole."""
    spans = local(cycle, at)
    assert all("00:00" in start and "00:00" in end for start, end in (span.split() for span in spans))
    return [span[:5] for span in spans]


@every(
    ("cycle", "spans"),
    [
        ("currentHour", ["08-26/05:00 08-26/06:00"]),
        ("last1Hour", ["08-26/04:00 08-26/05:00"]),
        ("last2Hours", ["08-26/03:00 08-26/04:00", "08-26/04:00 08-26/05:00"]),
        ("last3Hours", ["08-26/02:00 08-26/03:00", "08-26/03:00 08-26/04:00", "08-26/04:00 08-26/05:00"]),
    ],
)
def test_hours_are_those_before_the_current_one(cycle: str, spans: list[str]) -> None:
    assert local(cycle, "2022-08-26T05:30:10") == spans


@every(
    ("cycle", "expected"),
    [
        ("today", ["08-26"]), ("last1Days", ["08-25"]), ("last2Days", ["08-24", "08-25"]),
        ("last3Days", ["08-23", "08-24", "08-25"]), ("last7Days", [f"08-{day}" for day in range(19, 26)]),
        ("thisWeek", [f"08-{day}" for day in range(22, 27)]), ("lastWeek", [f"08-{day}" for day in range(15, 22)]),
        ("lastMonday", ["08-15"]), ("lastTuesday", ["08-16"]), ("lastWednesday", ["08-17"]),
        ("lastThursday", ["08-18"]), ("lastFriday", ["08-19"]), ("lastSaturday", ["08-20"]), ("lastSunday", ["08-21"]),
        ("thisMonth", [f"08-{day:02}" for day in range(1, 27)]), ("thisMonthBegin", ["08-01"]),
        ("thisMonthEnd", ["08-31"]), ("lastMonth", [f"07-{day:02}" for day in range(1, 32)]),
        ("lastMonthBegin", ["07-01"]), ("lastMonthEnd", ["07-31"]),
    ],
)  # fmt: skip
def test_days_weeks_and_months_are_whole_days(cycle: str, expected: list[str]) -> None:
    """2022-08-26 is a Friday."""
    assert days(cycle, "2022-08-26T05:30:10") == expected


def test_on_a_monday_last_monday_is_a_week_ago_and_this_week_has_one_day() -> None:
    assert days("lastMonday", "2022-08-22T00:00:00") == ["08-15"]
    assert days("thisWeek", "2022-08-22T00:00:00") == ["08-22"]
    assert days("thisMonth", "2024-02-01T00:00:00") == ["02-01"]
    assert days("thisMonthEnd", "2024-02-01T00:00:00") == ["02-29"]
    assert days("lastMonthEnd", "2024-01-31T23:59:59") == ["12-31"]


@every(("day", "hours"), [("2026-03-29", 23), ("2026-10-25", 25), ("2026-10-26", 24)])
def test_a_day_has_the_hours_that_it_has(day: str, hours: int) -> None:
    [(start, end)] = intervals(DateCycle.TODAY, datetime.fromisoformat(day).replace(tzinfo=BERLIN, hour=12), BERLIN)
    assert end - start == timedelta(hours=hours)


def test_an_hour_that_comes_twice_is_two_and_one_that_never_comes_is_none() -> None:
    assert local("last3Hours", "2026-10-25T04:10") == [
        "10-25/02:00 10-25/02:00", "10-25/02:00 10-25/03:00", "10-25/03:00 10-25/04:00"
    ]  # fmt: skip
    assert local("last2Hours", "2026-03-29T04:10") == ["03-29/01:00 03-29/03:00", "03-29/03:00 03-29/04:00"]


def test_where_midnight_is_skipped_the_day_begins_when_it_is() -> None:
    zone = ZoneInfo("America/Sao_Paulo")
    assert local("today", "2018-11-04T12:00", zone) == ["11-04/01:00 11-05/00:00"]


def test_a_day_that_a_zone_left_out_has_no_span() -> None:
    zone = ZoneInfo("Pacific/Apia")
    assert local("last2Days", "2011-12-31T12:00", zone) == ["12-29/00:00 12-31/00:00"]
    assert local("last1Days", "2011-12-31T12:00", zone) == []


@given(times, zones)
def test_spans_follow_each_other_without_gap_or_overlap(at: datetime, name: str) -> None:
    zone = ZoneInfo(name)
    for cycle in DateCycle:
        spans = intervals(cycle, at, zone)
        assert all(start < end for start, end in spans)
        assert all(before[1] == after[0] for before, after in pairwise(spans))
        assert cycle.startswith(("current", "to", "this")) or all(end <= at for _, end in spans)


@given(times, zones)
def test_the_current_ones_hold_the_time_itself_and_the_last_ones_end_where_they_begin(at: datetime, name: str) -> None:
    zone = ZoneInfo(name)

    def spans(cycle: DateCycle) -> list[Interval]:
        return intervals(cycle, at, zone)

    for now, *before in (
        (DateCycle.CURRENT_HOUR, DateCycle.LAST_1_HOUR, DateCycle.LAST_3_HOURS, DateCycle.LAST_24_HOURS),
        (DateCycle.TODAY, DateCycle.LAST_1_DAYS, DateCycle.LAST_7_DAYS),
        (DateCycle.THIS_WEEK, DateCycle.LAST_WEEK, DateCycle.LAST_SUNDAY),
        (DateCycle.THIS_MONTH, DateCycle.LAST_MONTH, DateCycle.LAST_MONTH_END),
    ):
        current = spans(now)
        assert current[-1][0] <= at < current[-1][1]
        assert all(spans(cycle)[-1][1] == current[0][0] for cycle in before)


@given(times, zones)
def test_a_cycle_has_as_many_spans_as_its_name_says(at: datetime, name: str) -> None:
    zone = ZoneInfo(name)
    counts = {cycle: len(intervals(cycle, at, zone)) for cycle in DateCycle}
    assert counts[DateCycle.LAST_24_HOURS] == 24
    assert counts[DateCycle.LAST_7_DAYS] == counts[DateCycle.LAST_WEEK] == 7
    assert counts[DateCycle.THIS_WEEK] == at.astimezone(zone).isoweekday()
    assert counts[DateCycle.THIS_MONTH] == at.astimezone(zone).day


@every("year", [1, 9999])
def test_the_end_of_the_calendar_is_told_in_a_sentence(year: int) -> None:
    at = datetime(year, 1 if year == 1 else 12, 1 if year == 1 else 31, tzinfo=UTC)
    cycle = DateCycle.LAST_MONTH if year == 1 else DateCycle.TODAY
    with pytest.raises(Refused, match="cannot be computed from"):
        intervals(cycle, at, BERLIN)
