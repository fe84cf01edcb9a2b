"""How many commands to take at once: few while there are few, many when there is a backlog."""

from __future__ import annotations


class AdaptiveBatch:
    """Grows while batches come back full and quickly, shrinks when one takes long.

    A large batch is cheap a row but keeps the workflows that already run waiting for its end.
    """

    SMALLEST = 20
    LONG_S = 0.25

    def __init__(self, size_max: int) -> None:
        self._size_max = size_max
        self.size = min(self.SMALLEST, size_max)

    def took(self, count: int, seconds: float) -> None:
        """A batch of `count` took so long."""
        if seconds > self.LONG_S:
            self.size = max(min(self.SMALLEST, self._size_max), self.size // 2)
        elif count >= self.size:
            self.size = min(self._size_max, self.size * 2)
