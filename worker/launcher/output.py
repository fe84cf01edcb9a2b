"""The pipe with a task's output, as its keeper holds it: both ends, to know what is unread."""

from __future__ import annotations

import fcntl
import os
import struct
import termios
import time
from typing import NamedTuple

READ_S_MAX = 0.05
"""How long a worker may take to read the end of the output before it counts as not reading."""

READ_EVERY_S = 0.0005


class Output(NamedTuple):
    """The end to which the task writes, and the one from which the worker reads."""

    write_fd: int
    read_fd: int

    def is_read(self) -> bool:
        """Whether the worker has read all of it, or does so within a short time."""
        for _ in range(round(READ_S_MAX / READ_EVERY_S)):
            if not unread(self.read_fd):
                return True
            time.sleep(READ_EVERY_S)
        return False

    def rest(self) -> bytes:
        """The unread output. To be called once the worker is dead: it would miss this."""
        found = b""
        while count := unread(self.read_fd):
            found += os.read(self.read_fd, count)
        return found


def unread(fd: int) -> int:
    """The number of bytes in the pipe."""
    (count,) = struct.unpack("i", fcntl.ioctl(fd, termios.FIONREAD, b"\0" * 4))
    return int(count)
