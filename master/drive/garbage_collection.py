"""Python's cyclic garbage collector, kept from walking the objects of large workflows.

It walks all new objects, and from time to time all objects, and every thread stops meanwhile: with a plan of ten
thousand tasks for more than a tenth of a second, again and again. None of that is garbage.
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
    """Exclude all present objects from collection. Cycles among them are never freed: for objects that live long."""
    gc.freeze()
