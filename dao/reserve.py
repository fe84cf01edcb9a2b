"""Descriptors that a node keeps for what it cannot do without: its connections to the database.

They are taken when it starts and lent while a connection is made, so that a process whose tasks or readers have taken
all others still beats. What was lent and is in use by then is taken again when there are some.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress

WANTED = 8

_held: list[int] = []


def fill() -> None:
    """Take what is missing, as far as there are any. Called when a process starts, and whenever one was lent."""
    with suppress(OSError):
        while len(_held) < WANTED:
            _held.append(os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC))


@contextmanager
def lent() -> Iterator[None]:
    """Within this block one descriptor more is free, if any is held."""
    if _held:
        os.close(_held.pop())
        try:
            yield
        finally:
            fill()
    else:
        yield
