"""A unified diff of two texts, in time bounded by their length."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher

MATCHED_MAX = 4_000
"""The most lines between the first and the last difference that are matched, since matching is quadratic. Beyond it,
all old lines are removed and all new ones added."""


def unified(before: Sequence[str], after: Sequence[str], of_before: str, of_after: str) -> Iterator[str]:
    """The lines of a unified diff with three lines of context; none if the texts are the same."""
    if before == after:
        return
    head = _common(before, after)
    tail = _common(before[head:][::-1], after[head:][::-1])
    old, new = before[head : len(before) - tail], after[head : len(after) - tail]
    matcher = SequenceMatcher(None, old, new) if max(len(old), len(new)) <= MATCHED_MAX else None
    codes = [("replace", 0, len(old), 0, len(new))] if matcher is None else matcher.get_opcodes()
    whole = SequenceMatcher[str](None, (), ())
    whole.opcodes = [  # type: ignore[attr-defined] # difflib only groups existing opcodes
        ("equal", 0, head, 0, head),
        *((tag, i + head, j + head, k + head, m + head) for tag, i, j, k, m in codes),
        ("equal", len(before) - tail, len(before), len(after) - tail, len(after)),
    ]
    yield from (f"--- {of_before}", f"+++ {of_after}")
    for group in whole.get_grouped_opcodes():
        yield f"@@ -{_range(group[0][1], group[-1][2])} +{_range(group[0][3], group[-1][4])} @@"
        for tag, i, j, k, m in group:
            yield from (f" {line}" for line in before[i:j] if tag == "equal")
            yield from (f"-{line}" for line in before[i:j] if tag in ("replace", "delete"))
            yield from (f"+{line}" for line in after[k:m] if tag in ("replace", "insert"))


def _common(one: Sequence[str], other: Sequence[str]) -> int:
    return next((n for n, (a, b) in enumerate(zip(one, other)) if a != b), min(len(one), len(other)))  # noqa: B905


def _range(start: int, stop: int) -> str:
    """Format a range as `diff -u` does: an empty one begins at the line before."""
    length = stop - start
    return f"{start + 1}" if length == 1 else f"{start + bool(length)},{length}"
