"""The users of the folder: two files, locked by those who use it; the kernel unlocks them however the process ends.

The owner's file is locked by the process that started the server. The server's file is locked by the server, which
inherits the open file, as do its children. So the check for remaining processes needs no pid, which may be stale or
reused by now; the pid in the owner's file is for people.
"""

from __future__ import annotations

import fcntl
import os
from pathlib import Path


def take(path: Path) -> int | None:
    """Lock the file, creating it if needed; returns the descriptor with the lock, or None if another process has it.

    The lock lasts until every copy of the descriptor is closed: a child that inherits it holds the lock.
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
    """The pid in the file, for a message."""
    pid = path.read_text().strip()
    return f"process {pid}" if pid else "another process"
