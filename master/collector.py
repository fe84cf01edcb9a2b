"""Python's collector of cyclic garbage, kept from walking what a large workflow is made of.

It walks all objects that are new, now and then all that there are, and every thread stands still meanwhile: for a
plan of ten thousand tasks more than a tenth of a second, again and again. None of that is garbage.
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
    """Nothing is collected until the block ends, in no thread. What is freed by its count of references still is."""
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
    """What there is now is not walked any more. Cycles among it are never found: for what is kept for long."""
    gc.freeze()
