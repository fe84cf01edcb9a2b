"""Who uses the folder: two files, locked by those who do, unlocked by the kernel when they end, however they end.

The owner's file is locked by the process that started the server. The server's file is locked by the server: it
inherits the open file, and so do its children. So "is anybody left?" needs no pid, which may be stale or another's by
now; the pid written in the owner's file is for people.
"""

from __future__ import annotations

import fcntl
import os
from pathlib import Path


def take(path: Path) -> int | None:
    """Lock the file, making it if need be: the descriptor that holds the lock, or None if somebody else holds it.

    The lock lasts until every copy of the descriptor is closed: give it to a child and the child holds it.
    """
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        return None
    return descriptor


def sign(descriptor: int) -> None:
    """Write our pid into a locked file."""
    os.ftruncate(descriptor, 0)
    os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)


def signature(path: Path) -> str:
    """Who signed the file, for a sentence."""
    pid = path.read_text().strip()
    return f"process {pid}" if pid else "another process"
