"""Decides whether an item that fails alone is to blame, or a fault that all items share.

A fault of the driver, of a trigger or of the machine makes every item fail, also alone. So an item is to blame when it
fails again although another of its kind was handled in between. If it is the only one that fails, and nothing else can
show that, it is to blame after `ALONE_S`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from enum import Enum, auto
from math import inf
from typing import Generic, TypeVar

ALONE_S = 14.0
LONG_S = 300.0
"""After this long, an item that must not wait forever is to blame, although a shared fault looks the same."""

Id = TypeVar("Id", bound=Hashable)


class Verdict(Enum):
    """What a failure shows."""

    UNKNOWN = auto()
    """Other items fail too, or it is too early to decide."""
    ONLY = auto()
    """Nothing else has failed here for `ALONE_S`."""
    TO_BLAME = auto()


@dataclass
class _Failure:
    kind: Hashable
    handled_before: int
    since_s: float


class Blame(Generic[Id]):
    """Failures of items by id, and what was handled meanwhile.

    Args:
        long_s: an item that fails for this long is to blame in any case, if it must not wait forever.
    """

    def __init__(self, long_s: float = inf) -> None:
        self._long_s = long_s
        self._failures: dict[Id, _Failure] = {}
        self._handled: Counter[Hashable] = Counter()

    def handled(self, kinds: Iterable[Hashable] = (None,)) -> list[Id]:
        """Record handled items of these kinds. Returns the items that failed alone before: their next try decides."""
        kinds = set(kinds)
        self._handled.update(kinds)
        return [
            id_
            for id_, failure in self._failures.items()
            if failure.kind in kinds and self._handled[failure.kind] == failure.handled_before + 1
        ]

    def failed(self, id_: Id, now_s: float, kind: Hashable = None) -> Verdict:
        """Record that an item failed alone."""
        failure = self._failures.setdefault(id_, _Failure(kind, self._handled[kind], now_s))
        lasts_s = now_s - failure.since_s
        if self._handled[failure.kind] > failure.handled_before or lasts_s >= self._long_s:
            return Verdict.TO_BLAME
        return Verdict.ONLY if lasts_s >= ALONE_S and len(self._failures) == 1 else Verdict.UNKNOWN

    def drop(self, id_: Id) -> None:
        """Forget an item that was handled or refused."""
        self._failures.pop(id_, None)
