"""How many streams are open: events and logs that are followed may stay open for days, and each takes a connection."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from metrics import api as metrics


class OpenStreams:
    """Counts the streams of this process.

    Args:
        all_max: how many may be open in all.
        account_max: how many of one account.
    """

    def __init__(self, all_max: int, account_max: int) -> None:
        self._all_max = all_max
        self._account_max = account_max
        self._open: Counter[str] = Counter()

    @contextmanager
    def another(self, caller: str) -> Iterator[str | None]:
        """Count one more stream of a caller meanwhile; yields why it may not be opened, or None."""
        if self._open[caller] >= self._account_max:
            yield f"your account has {self._account_max} streams open here already; close some of them first"
        elif self._open.total() >= self._all_max:
            yield f"this API has {self._all_max} streams open already; ask again later, or raise api.streams_max"
        else:
            self._open[caller] += 1
            metrics.listeners.inc()
            try:
                yield None
            finally:
                metrics.listeners.dec()
                self._open[caller] -= 1
                if not self._open[caller]:
                    del self._open[caller]
