"""How much to take into one transaction: little while there is little, much when there is a backlog."""

from __future__ import annotations


class AdaptiveBatch:
    """Grows while batches come back full and quickly, shrinks when one takes long or fails.

    A large batch is cheap a row but keeps what already runs waiting for its end. One that is too large to be written
    at all (each of its commands may have thousands of tasks) or that holds something poisonous must come down to 1.
    """

    SMALLEST = 20
    """What a batch is never shrunk below for being slow."""
    LONG_S = 0.25

    def __init__(self, size_max: int) -> None:
        self._size_max = size_max
        self._unharmed = min(self.SMALLEST, size_max)
        self.size = self._unharmed

    def took(self, count: int, seconds: float) -> None:
        """A batch of `count` took so long."""
        if seconds > self.LONG_S:
            self.size = max(min(self._unharmed, self.size), self.size // 2)
        elif count >= self.size:
            self.size = min(self._size_max, self.size * 2)

    def failed(self) -> None:
        """A batch could not be written: the next one is half as large, down to 1."""
        self.size = max(1, self.size // 2)
