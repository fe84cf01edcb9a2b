"""Time spans with units."""

from __future__ import annotations

from datetime import timedelta

import pytest

from model.errors import Refused
from model.time.durations import read_duration, seconds_of
from tests.every import every


@every(
    ("text", "seconds"),
    [
        ("90", 90),
        ("0.5", 0.5),
        ("30s", 30),
        ("5m", 300),
        ("1h30m", 5_400),
        ("2d", 172_800),
        ("500ms", 0.5),
        ("1H 5S", 3_605),
    ],
)
def test_a_span_is_read(text: str, seconds: float) -> None:
    assert read_duration(text, "it") == timedelta(seconds=seconds)


@every("text", ["", "0", "-5", "5x", "m", "nan", "inf", "1e300", "1h-5m", "0s", "five"])
def test_what_is_no_span_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(Refused, match=r"--timeout .* is not a time span; write it as 30s, 5m or 1h30m"):
        read_duration(text, "--timeout")


def test_a_bare_number_has_no_unit() -> None:
    assert seconds_of("90") is None
