"""Whether what a master holds in memory may be compared with rows.

While a transaction is under way memory is ahead of the rows, or behind them once it has committed and the answer is on
its way. After a COMMIT of unknown outcome memory may lack what the rows have, until they are read again. A difference
seen then is no fault.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from model.errors import Unknown


class Settled:
    """Counts the transactions that change runs, and those of which nobody knows yet whether they committed."""

    def __init__(self) -> None:
        self.begun = 0
        """How many transactions have begun."""
        self.unknown = 0
        """How many of them had an unknown outcome."""
        self._found_out = 0
        self._under_way: set[int] = set()

    @contextmanager
    def changing(self) -> Iterator[None]:
        """Around a transaction that changes runs, until memory is as it left the rows."""
        self.begun += 1
        number = self.begun
        self._under_way.add(number)
        try:
            yield
        except Unknown:
            self.unknown += 1
            raise
        finally:
            self._under_way.discard(number)

    def found_out(self, unknown: int) -> None:
        """The rows were read again since the first `unknown` of unknown outcome had ended."""
        self._found_out = max(self._found_out, unknown)

    def is_so(self, begun: int) -> bool:
        """Whether none of the first `begun` transactions is under way, and no outcome is unknown."""
        return self._found_out == self.unknown and all(number > begun for number in self._under_way)
