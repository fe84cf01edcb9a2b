"""The adaptive batch size: small while there is little to do, large when there is a backlog."""

from __future__ import annotations


class AdaptiveBatch:
    """Grows while batches come back full and quickly, shrinks when one takes long or fails.

    A large batch is cheap per row but delays what already runs. A batch that is too large to be written at all (each of
    its commands may have thousands of tasks) or that contains a command that makes it fail must shrink to 1.
    """

    SMALLEST = 20
    """The minimum size to which a slow batch shrinks."""
    LONG_S = 0.25

    def __init__(self, size_max: int) -> None:
        self._size_max = size_max
        self._unharmed = min(self.SMALLEST, size_max)
        self.size = self._unharmed

    def took(self, count: int, seconds: float) -> None:
        """A batch of `count` took this long."""
        if seconds > self.LONG_S:
            self.size = max(min(self._unharmed, self.size), self.size // 2)
        elif count >= self.size:
            self.size = min(self._size_max, self.size * 2)

    def failed(self) -> None:
        """A batch could not be written: the next one is half as large, down to 1."""
        self.size = max(1, self.size // 2)
