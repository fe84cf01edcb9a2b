"""Tells whether the state in a master's memory may be compared with the rows.

While a transaction runs, memory is ahead of the rows, or behind them once it has committed and the answer has not
arrived; one that is repeated with a plan or a large value has dropped its runs meanwhile. After a COMMIT of unknown
outcome, memory may lack what the rows have until they are read again. A difference in these cases is not a fault.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from model.errors import Unknown
from model.ids import WorkflowInstanceId


class OpenTransactions:
    """Counts the transactions that change runs, and those whose outcome is still unknown."""

    def __init__(self) -> None:
        self.begun = 0
        """How many transactions have begun."""
        self.unknown = 0
        """How many of them had an unknown outcome."""
        self._resolved = 0
        self._open: dict[int, set[WorkflowInstanceId]] = {}

    @contextmanager
    def counted(self) -> Iterator[set[WorkflowInstanceId]]:
        """Count a transaction that changes runs, until memory matches the rows that it left. It adds to the set what it
        drops from memory."""
        self.begun += 1
        number = self.begun
        self._open[number] = set()
        try:
            yield self._open[number]
        except Unknown:
            self.unknown += 1
            raise
        finally:
            del self._open[number]

    def resolve(self, unknown: int) -> None:
        """Record that the rows were read again after the first `unknown` transactions of unknown outcome had ended."""
        self._resolved = max(self._resolved, unknown)

    def dropped(self) -> set[WorkflowInstanceId]:
        """The runs that open transactions have dropped from memory."""
        return set().union(*self._open.values())

    def none_of(self, begun: int) -> bool:
        """Whether none of the first `begun` transactions is open, and no outcome is unknown."""
        return self._resolved == self.unknown and all(number > begun for number in self._open)
