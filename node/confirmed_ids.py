"""Recently confirmed ids, which a database that went back to an earlier state would lack.

A beat that an earlier state contains proves everything that was confirmed before it was sent; a beat that it lacks is
noticed anyway. Nothing proves what came after the last beat, so the node remembers it until the second beat afterwards:
one may have been in flight.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from typing import Generic, TypeVar

from dao.cluster.went_back import KNOWN_MAX
from node.life import Life

Id = TypeVar("Id", bound=int)


class ConfirmedIds(Generic[Id]):
    """The ids; at most the last `KNOWN_MAX`."""

    def __init__(self, life: Life) -> None:
        self._life = life
        self._seen: deque[tuple[int, Id]] = deque(maxlen=KNOWN_MAX)

    def add(self, ids: Iterable[Id]) -> None:
        """Add ids that the database has just confirmed."""
        self._seen.extend((self._life.beats_settled, id_) for id_ in ids)

    def __iter__(self) -> Iterator[Id]:
        """Iterate over the ids, newest first."""
        return (id_ for beat, id_ in reversed(self._seen) if beat + 2 > self._life.beats_settled)
