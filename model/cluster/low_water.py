"""Where the search of a queue begins: PostgreSQL keeps the index entries of deleted rows until VACUUM.

While a transaction stays open, such as that of a backup, VACUUM removes nothing: a search from the first id then walks
over every row that was handled since, and takes longer with each. A search from a low-water mark walks over the rows
of the last second. Rows can appear below the mark, for ids become visible in another order than they are given. The
look of a node, which walks from the first id, finds these; it pays for that by coming less often (`Walks`).
"""

from __future__ import annotations

from collections import deque

GRACE_S = 1.0
"""How long an id may take to become visible and still be found above the mark."""
REST_S = 60.0
"""How long all is searched from the first id after masters came or went: rows with old ids change hands then."""
LONG_S = 0.1
"""A look that takes longer has walked over many entries of deleted rows, or the machine is busy."""
PAUSE = 10
"""A long walk is followed by a pause of this many times its duration."""


class Walks:
    """Whether a look reads what may be long. Times are seconds of any clock that only goes forward."""

    def __init__(self) -> None:
        self.are_long = False
        self._next_s = 0.0
        self._rests_until_s = 0.0

    def are_due(self, now_s: float) -> bool:
        """Whether this look is to walk from the first ids."""
        return now_s >= self._next_s or now_s < self._rests_until_s

    def rest(self, now_s: float) -> None:
        """Masters came or went."""
        self._rests_until_s = now_s + REST_S

    def took(self, took_s: float, now_s: float) -> None:
        """One took so long, and ended now."""
        self.are_long = took_s > LONG_S
        self._next_s = now_s + PAUSE * took_s if self.are_long else now_s


class LowWater:
    """The mark of one queue. Times as for `Walks`; ids grow in the order in which they are given."""

    def __init__(self) -> None:
        self.is_used = False
        """Whether walks from the first id are long."""
        self._mark = 0
        self._taken: deque[tuple[float, int]] = deque()
        """When everything visible up to which id had been taken, of the last second."""
        self._rests_until_s = 0.0

    def first(self, now_s: float) -> int:
        """The id from which to search."""
        while self._taken and self._taken[0][0] <= now_s - GRACE_S:
            self._mark = max(self._mark, self._taken.popleft()[1])
        return self._mark if self.is_used and now_s >= self._rests_until_s else 0

    def took(self, last: int, now_s: float) -> None:
        """Everything visible up to this id was taken, and that was committed."""
        if not self._taken or last > self._taken[-1][1]:
            self._taken.append((now_s, last))

    def lower(self, found: int) -> None:
        """A row with this id waits."""
        if found < self._mark or (self._taken and found <= self._taken[-1][1]):
            self._mark = min(self._mark, found)
            self._taken.clear()

    def rest(self, now_s: float) -> None:
        """Masters came or went."""
        self._mark = 0
        self._taken.clear()
        self._rests_until_s = now_s + REST_S
