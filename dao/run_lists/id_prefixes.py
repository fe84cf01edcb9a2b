"""Ids that begin with given digits, found by the primary key: for each length of an id they are one range.

The ranges are read from the highest down, so the newest that fit are found without reading others.
"""

from __future__ import annotations

_ID_MAX = 2**63 - 1


def ranges(digits: str) -> list[tuple[int, int]]:
    """The lowest and the highest id of each range, highest range first; `digits` are decimal.

    An id has no leading zero, so none begins with one.
    """
    if digits.startswith("0"):
        return []
    found = []
    low = high = int(digits)
    while low <= _ID_MAX:
        found.append((low, min(high, _ID_MAX)))
        low, high = 10 * low, 10 * high + 9
    return found[::-1]


def bounds(digits: str) -> dict[str, list[int]]:
    """The same as the values of a statement that reads ranges: `lows` and `highs`."""
    found = ranges(digits)
    return {"lows": [low for low, _ in found], "highs": [high for _, high in found]}
