"""The moment until which a worker's tasks may run, in memory shared with every keeper.

The worker moves it forward while it knows that its tasks were not given to others. A worker that is stopped or cut off
cannot move it, so its keepers end its tasks before others start them again.
"""

from __future__ import annotations

import mmap
import os

from registry.clock import boottime_s

_SIZE = 8  # one C double, aligned: read and written by one instruction, so never half-written


class Deadline:
    """One number, seconds by `boottime_s`, 0 for none; only the process that created it can change it."""

    def __init__(self) -> None:
        self.fd = os.memfd_create("shoal-deadline")
        os.ftruncate(self.fd, _SIZE)
        self._cell = memoryview(mmap.mmap(self.fd, _SIZE)).cast("d")

    @classmethod
    def shared(cls, fd: int) -> Deadline:
        """The read-only side, from an inherited descriptor, which is closed."""
        deadline = cls.__new__(cls)
        deadline._cell = memoryview(mmap.mmap(fd, _SIZE, prot=mmap.PROT_READ)).cast("d")
        os.close(fd)
        return deadline

    def set(self, at_boottime_s: float) -> None:
        """Set the deadline; keepers notice within their tick of 0.5 s."""
        self._cell[0] = at_boottime_s

    def has_passed(self) -> bool:
        """Whether it is set and has passed."""
        return 0.0 < self._cell[0] <= boottime_s()

    def close(self) -> None:
        """Close the owner's descriptor; keepers still read their mapping. A second call does nothing."""
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1
