"""What a keeper gets for one task: the request, and both ends of the output pipe, to find out what is unread."""

from __future__ import annotations

import fcntl
import os
import struct
import termios
import time
from collections.abc import Sequence
from typing import NamedTuple

READ_S_MAX = 0.05
"""If the end of the output stays unread this long, the worker counts as not reading."""

READ_PAUSE_S = 0.0005

GIVEN_FDS = 3
"""How many descriptors come with a task."""


class Output(NamedTuple):
    """The end to which the task writes, and the one from which the worker reads."""

    write_fd: int
    read_fd: int

    def is_read(self) -> bool:
        """Whether the worker has read everything, or does so shortly."""
        pause_s = READ_PAUSE_S
        while unread(self.read_fd):
            if pause_s > READ_S_MAX:
                return False
            time.sleep(pause_s)
            pause_s *= 2
        return True

    def rest(self) -> bytes:
        """The unread output. Only for use after the worker died, since it takes the output."""
        found = b""
        while count := unread(self.read_fd):
            found += os.read(self.read_fd, count)
        return found


class GivenTask(NamedTuple):
    """The memory file with the request, replaced by the answer if the request is an order; and the output. Its write
    end is closed once the task has it, so that the reader sees its end."""

    request_fd: int
    output: Output

    @classmethod
    def of(cls, fds: Sequence[int]) -> GivenTask:
        """The three descriptors in the order in which a worker sends them."""
        request_fd, write_fd, read_fd = fds
        return cls(request_fd, Output(write_fd, read_fd))

    def close(self) -> None:
        os.close(self.request_fd)
        os.close(self.output.read_fd)


def unread(fd: int) -> int:
    (count,) = struct.unpack("i", fcntl.ioctl(fd, termios.FIONREAD, b"\0" * 4))
    return int(count)
