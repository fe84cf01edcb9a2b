"""Ids that begin with given digits, found by the primary key: for each length of an id they are one range.

The ranges are read from the highest down, so the newest that fit are found without reading others.
"""

from __future__ import annotations

from collections.abc import Mapping

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


def newest(table: str, digits: str) -> tuple[str, Mapping[str, list[int]]]:
    """A statement for the newest ids of a table that begin so, and its values.

    It still needs `before`, an id that is too high, and `page`, the limit.
    """
    found = ranges(digits)
    statement = f"""
        SELECT own.id FROM unnest(CAST(:lows AS bigint[]), CAST(:highs AS bigint[])) AS wanted (low, high)
        CROSS JOIN LATERAL (
            SELECT id FROM {table}                                              -- index: its primary key
            WHERE id BETWEEN wanted.low AND wanted.high AND id < CAST(:before AS bigint)
            ORDER BY id DESC LIMIT :page) AS own
        ORDER BY own.id DESC LIMIT :page
    """
    return statement, {"lows": [low for low, _ in found], "highs": [high for _, high in found]}
