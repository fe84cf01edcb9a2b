"""File descriptors that a node reserves for what it cannot work without: its connections to the database.

They are opened at start and released while a connection is made, so that a process whose tasks or readers have used up
all others still beats. A released descriptor that is in use afterwards is replaced when descriptors are free again.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress

WANTED = 8

_reserved: list[int] = []


def fill() -> None:
    """Open the missing ones, as far as descriptors are free. Called at process start and after each release."""
    with suppress(OSError):
        while len(_reserved) < WANTED:
            _reserved.append(os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC))


@contextmanager
def lent() -> Iterator[None]:
    """Within this block one more descriptor is free, if any is reserved."""
    if _reserved:
        os.close(_reserved.pop())
        try:
            yield
        finally:
            fill()
    else:
        yield
