"""The interval of a run, by the meaning that docs/guides/schedules.md gives it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import islice, pairwise
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from model.parameters.nested_references import resolve
from model.time.cron import Cron
from model.time.intervals import FireRule, Interval, NoInterval, interval_at, is_latest
from model.time.time_expressions import replace_time_expressions
from tests.every import every

RULES = [
    "@hourly",
    "0 5 * * *",
    "@monthly",
    "0/15 8-18 * * 1-5",
    "30 2 * * *",
    "30 1,2,3 * * *",
    "0 0 12 L * ?",
    "0/7 * * * * ?",
    "0 0 0 29 2 ?",
]
ZONES = ["UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Pacific/Apia"]


def moment(text: str) -> datetime:
    return datetime.fromisoformat(text)


def found(rule: str, at: str, zone: str = "Europe/Berlin") -> tuple[str, str] | None:
    interval = interval_at(FireRule(rule, zone), moment(at))
    if interval is None:
        return None
    start, end = (each.astimezone(ZoneInfo(zone)).isoformat() for each in (interval.start, interval.end))
    return start, end


def test_a_run_that_is_due_has_the_time_since_the_fire_before() -> None:
    assert found("0 5 * * *", "2026-01-02T05:00+01:00") == ("2026-01-01T05:00:00+01:00", "2026-01-02T05:00:00+01:00")
    assert found("@monthly", "2026-03-01T00:00+01:00") == ("2026-02-01T00:00:00+01:00", "2026-03-01T00:00:00+01:00")


def test_a_run_for_a_time_between_two_fires_has_the_last_whole_interval() -> None:
    assert found("@hourly", "2026-01-02T10:37+01:00") == ("2026-01-02T09:00:00+01:00", "2026-01-02T10:00:00+01:00")
    assert found("0 9 * * 1-5", "2026-01-05T08:00+01:00") == ("2026-01-01T09:00:00+01:00", "2026-01-02T09:00:00+01:00")


def test_hours_are_right_over_both_clock_changes() -> None:
    assert found("@hourly", "2026-03-29T03:00+02:00") == ("2026-03-29T01:00:00+01:00", "2026-03-29T03:00:00+02:00")
    assert found("@hourly", "2026-10-25T02:00+02:00") == ("2026-10-25T01:00:00+02:00", "2026-10-25T02:00:00+02:00")
    assert found("@hourly", "2026-10-25T02:00+01:00") == ("2026-10-25T02:00:00+02:00", "2026-10-25T02:00:00+01:00")


def test_days_have_23_and_25_hours_at_clock_changes() -> None:
    for day, hours in (("2026-03-29", 23), ("2026-10-25", 25)):
        noon = moment(f"{day}T12:00").replace(tzinfo=ZoneInfo("Europe/Berlin"))
        interval = interval_at(FireRule("0 12 * * *", "Europe/Berlin"), noon)
        assert interval is not None
        assert interval.end - interval.start == timedelta(hours=hours)


def test_a_time_that_the_clock_skips_ends_and_begins_intervals_after_the_gap() -> None:
    assert found("30 2 * * *", "2026-03-29T03:00+02:00") == ("2026-03-28T02:30:00+01:00", "2026-03-29T03:00:00+02:00")
    assert found("30 2 * * *", "2026-03-30T02:30+02:00") == ("2026-03-29T03:00:00+02:00", "2026-03-30T02:30:00+02:00")


@every("rule", ["0 0 0 1 1 ? 2027", "not a cron", "0 0 0 30 2 ?"])
def test_a_rule_that_never_fired_or_cannot_be_read_gives_none(rule: str) -> None:
    assert found(rule, "2026-06-01T00:00+00:00") is None


def test_one_fire_before_is_no_interval_and_two_are() -> None:
    assert found("0 0 0 1 1 ? 2026", "2026-06-01T00:00+00:00", "UTC") is None
    assert found("0 0 0 1 1 ? 2025-2026", "2026-06-01T00:00+00:00", "UTC") == (
        "2025-01-01T00:00:00+00:00",
        "2026-01-01T00:00:00+00:00",
    )


@every("year", [1, 9999])
def test_the_ends_of_the_calendar_have_no_interval(year: int) -> None:
    assert interval_at(FireRule("@daily", "Asia/Tokyo"), datetime(year, 12, 31, tzinfo=UTC)) is None


def test_a_rule_of_long_ago_is_searched_by_halves() -> None:
    assert found("* * * * * ? 2020", "2026-06-01T00:00+00:00", "UTC") == (
        "2020-12-31T23:59:58+00:00",
        "2020-12-31T23:59:59+00:00",
    )


def test_a_rule_of_a_year_before_the_longest_silence_of_others_is_found() -> None:
    assert found("0 0 0 1 1,2 ? 1970", "2090-06-01T00:00+00:00", "UTC") == (
        "1970-01-01T00:00:00+00:00",
        "1970-02-01T00:00:00+00:00",
    )


@given(
    rule=st.sampled_from(RULES),
    zone=st.sampled_from(ZONES),
    begin=st.integers(0, 18 * 366 * 86_400).map(lambda s: datetime(2009, 1, 1, tzinfo=UTC) + timedelta(seconds=s)),
    later=st.timedeltas(timedelta(0), timedelta(days=40)),
)
def test_intervals_follow_each_other_without_gap_or_overlap(
    rule: str, zone: str, begin: datetime, later: timedelta
) -> None:
    """Goal: forwards and backwards agree. Method: the fires are computed forwards, each interval backwards."""
    fires = list(islice(Cron.parse(rule).after(begin, ZoneInfo(zone)), 4))
    between = [fires[1] + (fires[2] - fires[1]) / 3, fires[1] + min(later, fires[2] - fires[1] - timedelta(seconds=1))]
    for start, end in pairwise(fires):
        assert interval_at(FireRule(rule, zone), end) == Interval(start, end)
    for at in between:
        assert interval_at(FireRule(rule, zone), at) == Interval(fires[0], fires[1])


HOUR = Interval(moment("2026-03-29T00:00+00:00"), moment("2026-03-29T01:00+00:00"))
BERLIN = ZoneInfo("Europe/Berlin")


@every(
    ("written", "value"),
    [
        ("$[interval_start(yyyyMMddHH)]", "2026032901"),
        ("$[interval_end(yyyyMMddHH)]", "2026032903"),
        ("$[interval_end(yyyy-MM-dd HH:mm-1/24)]", "2026-03-29 01:00"),
        ("$[interval_start(month_first_day(yyyyMMdd,-1))]", "20260201"),
        ("$[interval_start(timestamp(yyyyMMddHHmmss))]", "1774742400"),
        ("$[yyyyMMddHH]", "2026033012"),
        ("$$[interval_start(yyyy)]", "$[interval_start(yyyy)]"),
        ("$[interval_start(1+2)] $[interval_begin(yyyy)]", "$[interval_start(1+2)] $[interval_begin(yyyy)]"),
    ],
)
def test_time_expressions_of_an_interval(written: str, value: str) -> None:
    at = moment("2026-03-30T10:00+00:00")
    assert replace_time_expressions(written, at, BERLIN, HOUR) == value
    assert resolve({"a": written}, {}, at, BERLIN, HOUR) == {"a": value}


def test_without_an_interval_its_expressions_are_refused() -> None:
    with pytest.raises(NoInterval, match=r"\$\[interval_start\(yyyy\)\] has no value"):
        replace_time_expressions("$[interval_start(yyyy)]", HOUR.end, BERLIN)
    with pytest.raises(NoInterval, match=r"\$\{system.interval.end\} has no value"):
        resolve({"a": "until ${system.interval.end}"}, {}, HOUR.end, BERLIN)
    kept = "$$[interval_start(yyyy)] $[interval_start(1+2)]"
    assert replace_time_expressions(kept, HOUR.end, BERLIN) == kept[1:]


@every(
    ("rule", "now", "latest"),
    [
        ("@hourly", "2026-10-25T02:59:59+02:00", True),
        ("@hourly", "2026-10-25T02:00:00+01:00", False),
        ("0 0 0 1 1 ? 2020", "2026-10-25T02:00:00+01:00", True),
        ("not a cron", "2026-10-25T02:00:00+01:00", True),
    ],
)
def test_a_run_is_the_latest_until_the_next_time_is_due(rule: str, now: str, latest: bool) -> None:
    at = moment("2026-10-25T02:00:00+02:00")
    assert is_latest(FireRule(rule, "Europe/Berlin"), at, moment(now)) is latest
