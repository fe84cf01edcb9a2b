"""Lines that say the same again."""

from __future__ import annotations

from itertools import pairwise

from model.repeated import Repeated


def test_the_same_is_said_ever_more_rarely_and_something_else_at_once() -> None:
    repeated = Repeated()
    said_s = [now_s for now_s in range(1_000) if repeated.is_due("no database", float(now_s))]
    assert said_s[:6] == [0, 1, 2, 4, 8, 16]
    assert {later - earlier for earlier, later in pairwise(said_s[8:])} == {60}
    assert repeated.is_due("no right", 1_000.0)
    assert not repeated.is_due("no right", 1_000.1)
    assert repeated.is_due("no right", 1_000.5)
