"""Where the search of a queue begins: PostgreSQL keeps the index entries of deleted rows until VACUUM.

A search from the first id walks over every row that was handled since, right after a full load over thousands of pages,
and while a transaction stays open, such as that of a backup, over more with each. So a look of a node searches from
marks, and from the first ids only now and then (`Walks`). Rows can appear below a mark, for ids become visible in
another order than they are given. A mark of a look therefore rises only over what is certain (`Settling`). What nobody
announced and was below it all the same, such as a row that somebody changed by hand, is found by the next look that
searches everything.
"""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass
from typing import Generic, NamedTuple, TypeVar

GRACE_S = 1.0
"""How long an id may take to become visible and still be found above the mark of `LowWater`; for so long at most
nobody knows of a transaction that was given an id."""
REST_S = 60.0
"""How long all is searched from the first id after masters came or went: rows with old ids change hands then."""
LONG_S = 0.1
"""A look that takes longer has walked over many entries of deleted rows, or the machine is busy."""
PAUSE = 10
"""A long walk is followed by a pause of this many times its duration,"""
PAUSE_S_MAX = 5.0
"""but of no more than this: a server that hung looks like a long walk, and nobody may have announced what waits."""
ALL_EVERY_S = 30.0
"""How often a look searches from the first ids, though it has marks."""
UNFOUND_EVERY_S = 1.0
"""How often a queue is searched from the first id because something was announced and is not above the mark."""

Given = TypeVar("Given")


class Walks:
    """Whether a look reads what may be long. Times are seconds of any clock that only goes forward."""

    def __init__(self) -> None:
        self.are_long = False
        """Whether those from the first ids are."""
        self._next_s = self._all_s = 0.0
        self._rests_until_s = 0.0

    def are_due(self, now_s: float) -> bool:
        """Whether this look is to search at all what may be long."""
        return now_s >= self._next_s or now_s < self._rests_until_s

    def are_of_all(self, now_s: float) -> bool:
        """Whether it is to search that from the first ids, whatever marks there are."""
        return now_s >= self._all_s or now_s < self._rests_until_s

    def rest(self, now_s: float) -> None:
        """Masters came or went."""
        self._rests_until_s = now_s + REST_S

    def took(self, took_s: float, now_s: float, *, of_all: bool = True) -> None:
        """One took so long, and ended now."""
        is_long = took_s > LONG_S
        self._next_s = now_s + min(PAUSE * took_s, PAUSE_S_MAX) if is_long else now_s
        if of_all:
            self.are_long, self._all_s = is_long, max(now_s + ALL_EVERY_S, self._next_s)


class LowWater:
    """The mark of one queue. Times as for `Walks`; ids grow in the order in which they are given."""

    def __init__(self) -> None:
        self.is_used = False
        """Whether walks from the first id are long."""
        self.last = 0
        """The highest id that was taken."""
        self.settled = 0
        """An id below which nothing waits (`MarksOfLooks`)."""
        self._mark = 0
        self._taken: deque[tuple[float, int]] = deque()
        """When everything visible up to which id had been taken, of the last second."""
        self._rests_until_s = 0.0
        self._unfound_s = 0.0

    def first(self, now_s: float) -> int:
        """The id from which to search."""
        while self._taken and self._taken[0][0] <= now_s - GRACE_S:
            self._mark = max(self._mark, self._taken.popleft()[1])
        if now_s < self._rests_until_s:
            return 0
        return max(self._mark, self.settled) if self.is_used else self.settled

    def searches_all_in_s(self, now_s: float) -> float:
        """In how many seconds to search from the first id, after a search from the mark found nothing; 0 = now."""
        if now_s < self._unfound_s:
            return self._unfound_s - now_s
        self._unfound_s = now_s + UNFOUND_EVERY_S
        return 0.0

    def took(self, last: int, now_s: float) -> None:
        """Everything visible up to this id was taken, and that was committed."""
        self.last = max(self.last, last)
        if not self._taken or last > self._taken[-1][1]:
            self._taken.append((now_s, last))

    def lower(self, found: int) -> None:
        """A row with this id waits."""
        self.settled = min(self.settled, found)
        if found < self._mark or (self._taken and found <= self._taken[-1][1]):
            self._mark = min(self._mark, found)
            self._taken.clear()

    def rest(self, now_s: float) -> None:
        """Masters came or went."""
        self._mark = self.settled = 0
        self._taken.clear()
        self._rests_until_s = now_s + REST_S


class Horizon(NamedTuple):
    """Of what a statement sees: every transaction below `oldest` had ended, none from `next` on had begun to write."""

    oldest: int
    next: int


class Settling(Generic[Given]):
    """Says when what was given out before a moment is certain: each transaction that was given some has ended.

    A transaction is given an id shortly before it counts as one that writes. So the horizon is read `GRACE_S` after
    that moment, and what was given is certain when a look sees the end of every transaction below that horizon.
    """

    def __init__(self) -> None:
        self._given: Given | None = None
        self._given_s = 0.0
        self._until: int | None = None

    def looked(self, given: Given, horizon: Horizon, began_s: float, ended_s: float) -> Given | None:
        """A look saw this; it returns what had been given at an earlier one, if this one saw all that came of it."""
        certain = None
        if self._given is not None and self._until is not None and horizon.oldest >= self._until:
            certain, self._given = self._given, None
        if self._given is None:
            self._given, self._given_s, self._until = given, ended_s, None
        elif self._until is None and began_s - self._given_s >= GRACE_S:
            self._until = horizon.next
        return certain

    def forget(self) -> None:
        """Begin again."""
        self._given = self._until = None


@dataclass(frozen=True, slots=True)
class Marks:
    """From where on a look of a master searches: when a command was created, in seconds since 1970, and the id of an
    event."""

    created_s: float = -math.inf
    event: int = 0


FROM_FIRST = Marks()


class MarksOfLooks:
    """The marks of one master: below them nothing waits for it."""

    def __init__(self) -> None:
        self.now = FROM_FIRST
        self._settling: Settling[Marks] = Settling()

    def looked(
        self,
        first: tuple[float | None, int | None],
        given: Marks,
        horizon: Horizon,
        times_s: tuple[float, float],
    ) -> None:
        """A look found these first, in the order of `Marks`, None where it found none; of what will come nothing is
        below `given` but what is not certain yet. `times_s`: when it began and ended."""
        highest = self._settling.looked(given, horizon, *times_s) or self.now
        created_s, event = first
        self.now = Marks(
            highest.created_s if created_s is None else min(created_s, highest.created_s),
            highest.event if event is None else min(event, highest.event),
        )

    def rest(self) -> None:
        """Masters came or went: other rows are this one's."""
        self.now = FROM_FIRST
        self._settling.forget()


class MarkOfQueue:
    """The id of an attempt below which none waits in the queue of a worker; 0 = it is not known."""

    def __init__(self) -> None:
        self.now = 0
        self._settling: Settling[int] = Settling()

    def looked(self, *, found: bool, given: int, horizon: Horizon, times_s: tuple[float, float]) -> None:
        """As `MarksOfLooks.looked`."""
        if found:
            self._settling.forget()
        else:
            self.now = self._settling.looked(given, horizon, *times_s) or self.now
