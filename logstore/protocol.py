"""What a log store can do. It blocks: `logstore/calls.py` runs it in threads, since any of it may hang."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

MARK = "shoal-log-store"
"""The name of what says whose store it is."""

PART_BYTES = 5 << 20
"""So much of a log is in memory at once; the least that S3 takes as a part of a larger object."""

Advanced = Callable[[], None]
"""Called whenever a long call has got further."""


class LogStore(Protocol):
    """Copies of logs, by keys (`LogName.key`). A copy is there as a whole or not at all.

    Each method raises:
        Unavailable: the store is away, full, read-only or does not let us in; the sentence says which.
    """

    @property
    def place(self) -> str:
        """Where it is, without secrets."""

    def put(self, key: str, fd: int, begin: int, end: int, advanced: Advanced) -> None:
        """Store the bytes from `begin` up to `end` of an open file, in place of a former copy."""

    def size(self, key: str) -> int:
        """How many bytes a copy has. Raises `NotFound`."""

    def read(self, key: str, offset: int, limit: int) -> bytes:
        """The bytes from `offset`; at least one and at most `limit`, if there are so many. Raises `NotFound`."""

    def keys_after(self, after: str, limit: int) -> Sequence[str]:
        """At most so many keys, in order, after that one; none after the last. The mark may be among them."""

    def delete(self, keys: Sequence[str]) -> None:
        """Delete these copies; those that are not there are deleted."""

    def mark(self) -> str | None:
        """The mark in it; None: it has none."""

    def set_mark(self, mark: str) -> str:
        """Put a mark into a store without one; returns the one that it has now."""
