"""The difference of two texts: right for any, and bounded for long ones."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from model.definitions.line_diff import MATCHED_MAX, unified

LINES = st.lists(st.sampled_from("abcd"), max_size=30)


def patched(before: list[str], diff: list[str]) -> list[str]:
    """What the difference makes of the text, if its ranges and lines fit."""
    after: list[str] = []
    at = 0
    for line in diff[2:]:
        if found := re.fullmatch(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@", line):
            start = int(found[1]) - (found[2] != "0")
            after += before[at:start]
            at = start
            assert len(after) == int(found[3]) - (found[4] != "0")
        elif line[0] == "+":
            after.append(line[1:])
        else:
            assert before[at] == line[1:]
            after += [line[1:]] * (line[0] == " ")
            at += 1
    return [*after, *before[at:]]


@given(before=LINES, after=LINES)
def test_the_difference_of_any_texts_makes_the_one_of_the_other(before: list[str], after: list[str]) -> None:
    diff = list(unified(before, after, "a", "b"))
    assert bool(diff) == (before != after)
    assert patched(before, diff) == after


def test_a_difference_of_more_lines_than_are_matched_is_right_too() -> None:
    count = 2 * MATCHED_MAX
    before = ["head"] * 3 + [f"old {n}" if n % 2 else "same" for n in range(count)] + ["tail"] * 9
    after = ["head"] * 3 + [f"new {n}" if n % 2 else "same" for n in range(count)] + ["tail"] * 9
    diff = list(unified(before, after, "a", "b"))
    assert len(diff) == 2 + 1 + 2 * (count - 1) + 6, "old and new lines, none of them matched"
    assert patched(before, diff) == after


def test_a_small_change_in_a_long_text_shows_as_it_is() -> None:
    before = [str(n) for n in range(20 * MATCHED_MAX)]
    after = [*before[:50_000], "new", *before[50_002:]]
    diff = list(unified(before, after, "a", "b"))
    assert diff[2:6] == ["@@ -49998,8 +49998,7 @@", " 49997", " 49998", " 49999"]
    assert diff[6:] == ["-50000", "-50001", "+new", " 50002", " 50003", " 50004"]
    assert patched(before, diff) == after
