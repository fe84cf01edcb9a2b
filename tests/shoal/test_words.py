"""The wording of times."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from service.words import ago, counted, duration, plain, when
from tests.every import every


@every(
    ("seconds", "said"),
    [
        (None, "-"),
        (-0.01, "0 ms"),
        (0.03, "30 ms"),
        (1.24, "1.2 s"),
        (59.94, "59.9 s"),
        (252, "4 min 12 s"),
        (3_900, "1 h 5 min"),
        (180_000, "2 d 2 h"),
    ],
)
def test_durations_are_said_in_the_two_units_that_matter(seconds: float | None, said: str) -> None:
    assert duration(seconds) == said


def test_times_are_relative_unless_asked_exactly() -> None:
    now = datetime(2026, 1, 31, 12, tzinfo=UTC)
    assert when(now - timedelta(minutes=3), now, utc=False) == "3 min ago"
    assert when(now, now, utc=True) == "2026-01-31T12:00:00.000Z"
    assert when(None, now, utc=True) == "-"
    assert ago(90_000) == "1 d ago"


def test_what_a_terminal_would_obey_is_taken_out_of_names_and_reasons() -> None:
    assert plain("a\x1b[31mb\nc") == "a [31mb c"


def test_one_is_not_many() -> None:
    assert (counted(1, "task"), counted(2, "task")) == ("1 task", "2 tasks")
