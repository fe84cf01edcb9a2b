"""The size of the steps of the duty `retention`."""

from __future__ import annotations

from model.runs.retention_pace import ATTEMPTS_FIRST, ATTEMPTS_MAX, ATTEMPTS_MIN, LONG_S, SHORT_S, attempts_of_next


def test_steps_grow_while_they_are_short_and_shrink_when_they_are_long() -> None:
    first = ATTEMPTS_FIRST
    assert attempts_of_next(first, first, SHORT_S / 2) == 2 * first
    assert attempts_of_next(first, first - 1, SHORT_S / 2) == first, "there was not enough to delete"
    assert attempts_of_next(first, first, SHORT_S) == attempts_of_next(first, first, LONG_S) == first
    assert attempts_of_next(first, first, LONG_S * 2) == attempts_of_next(first, 3, LONG_S * 2) == first // 2
    assert attempts_of_next(ATTEMPTS_MAX, ATTEMPTS_MAX, 0.0) == ATTEMPTS_MAX
    assert attempts_of_next(ATTEMPTS_MIN, ATTEMPTS_MIN, 60.0) == ATTEMPTS_MIN
