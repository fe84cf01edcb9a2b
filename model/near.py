"""Suggests the name that a mistyped one means. The input has no bound, but the time has."""

from __future__ import annotations

from collections.abc import Collection
from difflib import get_close_matches
from heapq import nlargest

LENGTH_MAX = 200
"""Only this much of a name is compared."""
CANDIDATES_MAX = 10
"""If the candidates exceed `LETTERS_MAX` in all, only this many are compared letter by letter (milliseconds for each
long one): those that begin and end like the name."""
LETTERS_MAX = 2_000
SHOWN_MAX = 20
CUTOFF = 0.6


def nearest(name: str, known: Collection[str], cutoff: float = CUTOFF) -> str | None:
    """The most similar known name, if its similarity reaches `cutoff` (at most 1)."""
    word = name[:LENGTH_MAX]
    if sum(map(len, known)) > LETTERS_MAX:
        known = nlargest(CANDIDATES_MAX, known, key=lambda each: _alike(word, each[:LENGTH_MAX]))
    found = get_close_matches(word, [each for each in known if len(each) <= LENGTH_MAX * 2], n=1, cutoff=cutoff)
    return found[0] if found else None


def cure_of(name: str, known: Collection[str], if_none: str) -> str:
    """What to write instead of an unknown name: the nearest, else the known names, else `if_none`."""
    if (near := nearest(name, known)) is not None:
        return f'did you mean "{near}"?'
    return f"known: {', '.join(list(known)[:SHOWN_MAX])}" if known else if_none


def _alike(one: str, other: str) -> float:
    """The similarity of two texts by their common beginning and end, at most 1."""
    shorter = min(len(one), len(other))
    begin = _common(one, other, shorter)
    end = _common(one[::-1], other[::-1], shorter - begin)
    return 2 * (begin + end) / (len(one) + len(other) or 1)


def _common(one: str, other: str, most: int) -> int:
    """The length of the common beginning, at most `most`."""
    least = 0
    while least < most:
        middle = (least + most + 1) // 2
        if one[least:middle] == other[least:middle]:
            least = middle
        else:
            most = middle - 1
    return least
