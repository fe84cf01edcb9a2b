"""Keeps Python's cyclic garbage collector from walking the objects of large workflows.

It walks all new objects, and from time to time all objects, while every thread stops: a plan of ten thousand tasks
costs more than a tenth of a second each time, and none of it is garbage.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

_lock = Lock()
_users = 0


@contextmanager
def collector_paused() -> Iterator[None]:
    """Pause the collector in all threads until the block ends. Reference counting still frees objects."""
    global _users
    with _lock:
        _users += 1
        gc.disable()
    try:
        yield
    finally:
        with _lock:
            _users -= 1
            if not _users:
                gc.enable()


def keep_for_good() -> None:
    """Exclude all present objects from collection. Cycles among them are never freed: for long-lived objects."""
    gc.freeze()
