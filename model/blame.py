"""Whether an item that fails alone is to blame, or a fault that all items share.

A fault of the driver, of a trigger or of the machine makes each item fail, also alone. So an item is to blame when it
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
"""For items that must not wait for ever: so long a fault of all cannot be distinguished from theirs."""

Id = TypeVar("Id", bound=Hashable)


class Verdict(Enum):
    """What a failure shows."""

    UNKNOWN = auto()
    """Others fail too, or it is too early to know."""
    ONLY = auto()
    """Nothing else fails here, for so long."""
    TO_BLAME = auto()


@dataclass
class _Failure:
    kind: Hashable
    handled_before: int
    since_s: float


class Blame(Generic[Id]):
    """Failures of items by id, and what was handled meanwhile.

    Args:
        long_s: what fails for so long is to blame in any case, where it must not wait for ever.
    """

    def __init__(self, long_s: float = inf) -> None:
        self._long_s = long_s
        self._failures: dict[Id, _Failure] = {}
        self._handled: Counter[Hashable] = Counter()

    def handled(self, kinds: Iterable[Hashable] = (None,)) -> list[Id]:
        """Items of these kinds were handled. Returns what failed alone before: its next try shows whether it is to
        blame."""
        kinds = set(kinds)
        self._handled.update(kinds)
        return [
            id_
            for id_, failure in self._failures.items()
            if failure.kind in kinds and self._handled[failure.kind] == failure.handled_before + 1
        ]

    def failed(self, id_: Id, now_s: float, kind: Hashable = None) -> Verdict:
        """This one failed alone."""
        failure = self._failures.setdefault(id_, _Failure(kind, self._handled[kind], now_s))
        lasts_s = now_s - failure.since_s
        if self._handled[failure.kind] > failure.handled_before or lasts_s >= self._long_s:
            return Verdict.TO_BLAME
        return Verdict.ONLY if lasts_s >= ALONE_S and len(self._failures) == 1 else Verdict.UNKNOWN

    def drop(self, id_: Id) -> None:
        """It was handled, or refused."""
        self._failures.pop(id_, None)
