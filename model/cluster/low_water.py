"""Where the search of a queue begins: PostgreSQL keeps the index entries of deleted rows until VACUUM.

A search from the first id steps over every row that was handled since VACUUM: thousands of pages after a full load, and
more with each transaction that stays open, such as a backup's. So a node searches from marks, and from the first ids
only now and then (`Walks`). Ids become visible in another order than they are assigned, so rows can appear below a
mark. A mark therefore rises only over ids that are certain (`Settling`). Rows below it that no notification announced,
such as one changed by hand, are found by the next full search.
"""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass
from typing import Generic, NamedTuple, TypeVar

GRACE_S = 1.0
"""How long an id may take to become visible and still be found above the mark of `LowWater`; the longest time for which
a transaction with an id stays unknown."""
REST_S = 60.0
"""How long searches start from the first id after masters joined or left: rows with old ids change hands then."""
LONG_S = 0.1
"""A longer search has stepped over many deleted entries, or the machine is busy."""
PAUSE = 10
"""A long walk is followed by a pause of this many times its duration,"""
PAUSE_S_MAX = 5.0
"""The limit of that pause: a server that hung looks like a long walk, and waiting rows may be unannounced."""
ALL_EVERY_S = 30.0
"""How often a search starts from the first ids despite its marks."""
UNFOUND_EVERY_S = 1.0
"""How often a queue is searched from the first id because an announced row was not found above the mark."""

Given = TypeVar("Given")


class Walks:
    """Decides how far a search may walk. Times are seconds of any monotonic clock."""

    def __init__(self) -> None:
        self.are_long = False
        """Whether searches from the first ids take long."""
        self._next_s = self._all_s = 0.0
        self._rests_until_s = 0.0

    def are_due(self, now_s: float) -> bool:
        """Whether this search may do a long walk at all."""
        return now_s >= self._next_s or now_s < self._rests_until_s

    def are_of_all(self, now_s: float) -> bool:
        """Whether this search starts from the first ids, whatever its marks."""
        return now_s >= self._all_s or now_s < self._rests_until_s

    def rest(self, now_s: float) -> None:
        """Search everything for a while: masters joined or left."""
        self._rests_until_s = now_s + REST_S

    def took(self, took_s: float, now_s: float, *, of_all: bool = True) -> None:
        """Record a search that ended now after `took_s`."""
        is_long = took_s > LONG_S
        self._next_s = now_s + min(PAUSE * took_s, PAUSE_S_MAX) if is_long else now_s
        if of_all:
            self.are_long, self._all_s = is_long, max(now_s + ALL_EVERY_S, self._next_s)


class LowWater:
    """The mark of one queue. Times as for `Walks`; ids grow in the order in which they are assigned."""

    def __init__(self) -> None:
        self.is_used = False
        """Whether searches from the first id take long."""
        self.last = 0
        """The highest id that was taken."""
        self.settled = 0
        """An id below which nothing waits (`MarksOfLooks`)."""
        self._mark = 0
        self._taken: deque[tuple[float, int]] = deque()
        """(time, id) pairs of the last second: by then everything visible up to that id had been taken."""
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
        """Seconds until the next search from the first id, after a search from the mark found nothing; 0 = now."""
        if now_s < self._unfound_s:
            return self._unfound_s - now_s
        self._unfound_s = now_s + UNFOUND_EVERY_S
        return 0.0

    def took(self, last: int, now_s: float) -> None:
        """Record that everything visible up to this id was taken, and that this was committed."""
        self.last = max(self.last, last)
        if not self._taken or last > self._taken[-1][1]:
            self._taken.append((now_s, last))

    def lower(self, found: int) -> None:
        """Lower the mark to a waiting row."""
        self.settled = min(self.settled, found)
        if found < self._mark or (self._taken and found <= self._taken[-1][1]):
            self._mark = min(self._mark, found)
            self._taken.clear()

    def rest(self, now_s: float) -> None:
        """Search everything for a while: masters joined or left."""
        self._mark = self.settled = 0
        self._taken.clear()
        self._rests_until_s = now_s + REST_S


class Horizon(NamedTuple):
    """What a statement saw: every transaction below `oldest` had ended; none from `next` on had begun to write."""

    oldest: int
    next: int


class Settling(Generic[Given]):
    """Tells when everything assigned before a moment is certain: every transaction that got some of it has ended.

    A transaction gets an id shortly before it counts as one that writes. So the horizon is read `GRACE_S` after that
    moment. The assigned ids are certain once a search sees the end of every transaction below that horizon.
    """

    def __init__(self) -> None:
        self._given: Given | None = None
        self._given_s = 0.0
        self._until: int | None = None

    def looked(self, given: Given, horizon: Horizon, began_s: float, ended_s: float) -> Given | None:
        """Record a search; returns the value of an earlier one if it is certain now."""
        certain = None
        if self._given is not None and self._until is not None and horizon.oldest >= self._until:
            certain, self._given = self._given, None
        if self._given is None:
            self._given, self._given_s, self._until = given, ended_s, None
        elif self._until is None and began_s - self._given_s >= GRACE_S:
            self._until = horizon.next
        return certain

    def forget(self) -> None:
        self._given = self._until = None


@dataclass(frozen=True, slots=True)
class Marks:
    """Where a master's search begins: creation time of a command, in seconds since 1970, and the id of an event."""

    created_s: float = -math.inf
    event: int = 0


FROM_FIRST = Marks()


class MarksOfLooks:
    """The marks of one master: nothing waits for it below them."""

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
        """Record what a search found first, in the order of `Marks`, None for nothing. Later rows come only from
        `given` on, except those that are not certain yet. `times_s`: start and end of the search."""
        highest = self._settling.looked(given, horizon, *times_s) or self.now
        created_s, event = first
        self.now = Marks(
            highest.created_s if created_s is None else min(created_s, highest.created_s),
            highest.event if event is None else min(event, highest.event),
        )

    def rest(self) -> None:
        """Forget the marks: masters joined or left, so other rows belong to this one."""
        self.now = FROM_FIRST
        self._settling.forget()


class MarkOfQueue:
    """The lowest id of an attempt that may wait in the queue of a worker; 0 = unknown."""

    def __init__(self) -> None:
        self.now = 0
        self._settling: Settling[int] = Settling()

    def looked(self, *, found: bool, given: int, horizon: Horizon, times_s: tuple[float, float]) -> None:
        """As `MarksOfLooks.looked`."""
        if found:
            self._settling.forget()
        else:
            self.now = self._settling.looked(given, horizon, *times_s) or self.now
