"""Java date patterns: every letter, and what is no pattern."""

from __future__ import annotations

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

from model.time.java_dates import java_date
from tests.every import every

FRIDAY = datetime(2022, 8, 26, 13, 5, 9, 7000, tzinfo=UTC)


@every(
    ("pattern", "text"),
    [
        ("yyyyMMdd", "20220826"), ("yy", "22"), ("y", "2022"), ("yyyyy", "02022"), ("G", "AD"),
        ("M MM MMM MMMM", "8 08 Aug August"), ("L", "8"), ("d dd", "26 26"), ("E EEE EEEE u", "Fri Fri Friday 5"),
        ("D F w W Y", "238 4 34 4 2022"), ("H HH k K h a", "13 13 13 1 1 PM"), ("m mm s ss", "5 05 9 09"),
        ("S SSS", "7 007"), ("z Z X XX XXX", "UTC +0000 Z Z Z"), ("yyyy-MM-dd'T'HH:mm", "2022-08-26T13:05"),
        ("h 'o''clock' a", "1 o'clock PM"), ("''yy''", "'22'"), ("yyyy年MM月dd日", "2022年08月26日"),
    ],
)  # fmt: skip
def test_every_letter_of_a_java_pattern(pattern: str, text: str) -> None:
    assert java_date(pattern, FRIDAY) == text


@every(
    ("at", "text"),
    [
        ("2022-08-26T00:00+00:00", "0 24 0 12 AM"),
        ("2022-08-26T12:00+00:00", "12 12 0 12 PM"),
    ],
)
def test_midnight_and_noon_in_the_four_ways_to_count_hours(at: str, text: str) -> None:
    assert java_date("H k K h a", datetime.fromisoformat(at)) == text


@every(
    ("zone", "text"),
    [
        ("America/New_York", "EDT -0400 -04 -0400 -04:00 America/New_York"),
        ("Asia/Kolkata", "IST +0530 +05 +0530 +05:30 Asia/Kolkata"),
    ],
)
def test_zones_and_offsets(zone: str, text: str) -> None:
    assert java_date("z Z X XX XXX zzzz", FRIDAY.astimezone(ZoneInfo(zone))) == text


@every(
    ("day", "week"),
    [("2026-01-01", "1"), ("2026-01-05", "2"), ("2021-01-01", "0"), ("2021-01-04", "1"), ("2022-05-31", "5")],
)
def test_the_week_of_a_month(day: str, week: str) -> None:
    assert java_date("W", datetime.fromisoformat(day)) == week


@every("pattern", ["", " ", "1+2", "'x'", "''", "foo", "yyyyb", "yyyy'T", "'", "XXXX", "i", "é"])
def test_what_is_no_pattern_gives_nothing(pattern: str) -> None:
    assert java_date(pattern, FRIDAY) is None
