"""Offsets of DEPENDENT items: the one time that each asks for, also when the clock is put forward or back."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import islice
from zoneinfo import ZoneInfo, available_timezones

import pytest
from hypothesis import given
from hypothesis import strategies as st

from model.errors import Refused
from model.logic.date_offsets import DAYS_MAX, moment, read_offset, span_of
from model.runs.retention_pace import DEPENDENT_REACH
from model.time.cron import Cron
from tests.every import every

BERLIN = ZoneInfo("Europe/Berlin")
zones = st.sampled_from(sorted(available_timezones())) | st.sampled_from(["Europe/Berlin", "Australia/Lord_Howe"])
times = st.datetimes(datetime(2012, 1, 1), datetime(2036, 12, 31), timezones=st.just(UTC))  # noqa: DTZ001


def asked(offset: str, at: str, zone: ZoneInfo = BERLIN) -> str:
    found = moment(read_offset(offset), datetime.fromisoformat(at).replace(tzinfo=zone), zone)
    assert found.tzinfo is UTC
    return found.astimezone(zone).strftime("%m-%d %H:%M:%S %Z")


@every(
    ("offset", "expected"),
    [
        ("same", "08-26 05:30:10 CEST"), ("-23h", "08-25 06:30:10 CEST"), ("-1d", "08-25 05:30:10 CEST"),
        ("-1d12h", "08-24 17:30:10 CEST"), ("+30m", "08-26 06:00:10 CEST"), ("-10s", "08-26 05:30:00 CEST"),
        ("-90m", "08-26 04:00:10 CEST"), ("today 06:00", "08-26 06:00:00 CEST"),
        ("yesterday 06:00", "08-25 06:00:00 CEST"), ("-7d 06:00:30", "08-19 06:00:30 CEST"),
        ("+1d 0:00", "08-27 00:00:00 CEST"), ("-0d 06:00", "08-26 06:00:00 CEST"),
    ],
)  # fmt: skip
def test_an_offset_is_counted_from_the_schedule_time(offset: str, expected: str) -> None:
    assert asked(offset, "2022-08-26T05:30:10.9") == expected


@every(
    ("offset", "at", "expected"),
    [
        # 2022-03-27: 02:00 becomes 03:00. 2022-10-30: 03:00 becomes 02:00.
        ("-1d", "2022-03-27T12:00", "03-26 12:00:00 CET"), ("-24h", "2022-03-27T12:00", "03-26 11:00:00 CET"),
        ("-1d", "2022-10-30T12:00", "10-29 12:00:00 CEST"), ("-24h", "2022-10-30T12:00", "10-29 13:00:00 CEST"),
        ("-1d", "2022-03-28T02:30", "03-27 03:00:00 CEST"), ("today 02:30", "2022-03-27T12:00", "03-27 03:00:00 CEST"),
        ("-1d", "2022-10-31T02:30", "10-30 02:30:00 CEST"), ("-1h", "2022-10-30T03:30", "10-30 02:30:00 CET"),
        ("-2h", "2022-10-30T03:30", "10-30 02:30:00 CEST"), ("-1h", "2022-03-27T03:30", "03-27 01:30:00 CET"),
        ("yesterday 02:30", "2022-10-31T06:00", "10-30 02:30:00 CEST"),
    ],
)  # fmt: skip
def test_days_follow_the_clock_and_hours_are_elapsed(offset: str, at: str, expected: str) -> None:
    assert asked(offset, at) == expected


def test_the_second_of_a_repeated_hour_is_not_taken_for_the_first() -> None:
    second = datetime(2022, 10, 30, 2, 30, fold=1, tzinfo=BERLIN)
    assert moment("same", second, BERLIN) == second.astimezone(UTC)
    assert moment("-1h", second, BERLIN).astimezone(BERLIN).fold == 0


@given(times, zones)
def test_a_time_of_yesterday_is_when_a_daily_crontab_fired(at: datetime, name: str) -> None:
    """If it fired on that day: a clock that skips a whole day leaves it out."""
    zone = ZoneInfo(name)
    asked_for = moment("yesterday 02:30", at, zone)
    fires = Cron.parse("30 2 * * *").after(asked_for - timedelta(microseconds=1), zone)
    assert next(islice(fires, 1)) == asked_for


WRONG = ("", "-", "+", "23h", "-1w", "yesterday", "06:00", "tomorrow 06:00", "yesterday 6", "-1d-2h", "-2h1d", "- 1h")


@every("text", [*WRONG, "-1.5h"])
def test_what_is_no_offset_is_refused_with_examples(text: str) -> None:
    with pytest.raises(
        ValueError, match=r"must be \"same\", \"last\", an offset such as -23h, -1d or \+30m, or a time such as"
    ):
        read_offset(text)


def test_a_wrong_time_of_the_clock_and_a_distant_day_are_refused() -> None:
    with pytest.raises(ValueError, match=r'has no time of the clock in "today 24:00"'):
        read_offset("today 24:00")
    for text in ("-63d", "+9999d 06:00", "-1489h", "-62d1h"):
        with pytest.raises(ValueError, match="must be at most 62 days away"):
            read_offset(text)
    assert read_offset("-62d") and read_offset("-1488h")


def test_what_is_asked_for_is_kept_by_the_retention() -> None:
    assert timedelta(days=DAYS_MAX) < DEPENDENT_REACH


def test_a_time_outside_the_calendar_is_refused_with_a_sentence() -> None:
    with pytest.raises(Refused, match='"-62d" cannot be computed'):
        moment("-62d", datetime(1, 1, 20, tzinfo=UTC), BERLIN)


def test_a_span_is_one_second() -> None:
    begin, end = span_of("same", datetime(2022, 8, 26, 5, 0, 0, 900_000, tzinfo=UTC), BERLIN)
    assert (begin.microsecond, end - begin) == (0, timedelta(seconds=1))


def test_the_last_run_is_any_before_the_schedule_time() -> None:
    at = datetime(2022, 8, 26, 5, tzinfo=UTC)
    assert span_of(read_offset("last"), at, BERLIN) == (datetime(1, 1, 3, tzinfo=UTC), at)
