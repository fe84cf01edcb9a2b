"""What the database has confirmed lately, and would not have if it had just gone back to an earlier state.

A beat that an earlier state has proves all that was confirmed before it was sent; one that it lacks is missed anyway.
What came after the last beat is proved by nothing, so the node remembers it until the second beat from then: one may
have been under way.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from typing import Generic, TypeVar

from dao.cluster.went_back import KNOWN_MAX
from node.life import Life

Id = TypeVar("Id", bound=int)


class Lately(Generic[Id]):
    """Ids; at most the last `KNOWN_MAX`."""

    def __init__(self, life: Life) -> None:
        self._life = life
        self._seen: deque[tuple[int, Id]] = deque(maxlen=KNOWN_MAX)

    def add(self, ids: Iterable[Id]) -> None:
        """The database has just confirmed these."""
        self._seen.extend((self._life.beats_settled, id_) for id_ in ids)

    def __iter__(self) -> Iterator[Id]:
        """The last one first."""
        return (id_ for beat, id_ in reversed(self._seen) if beat + 2 > self._life.beats_settled)
