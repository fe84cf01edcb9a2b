"""What a machine may lack for a moment: descriptors, processes, memory, room on a disk.

An error of that kind says nothing about the data that met it: the same works again once there is room. So it never
refuses anything, and ends no task that has not begun.
"""

from __future__ import annotations

import errno

PASSING = frozenset(
    {errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EAGAIN, errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EINTR}
    | {errno.ENOBUFS, errno.ESTALE, errno.ETIMEDOUT}
)

NO_THREAD = "can't start new thread"
"""What Python says at the limit of processes; its error has no number."""


def is_passing(error: BaseException | None) -> bool:
    """Whether the operating system was short of something, by this error or by the one that caused it."""
    while error is not None:
        if isinstance(error, MemoryError) or (isinstance(error, OSError) and error.errno in PASSING):
            return True
        if isinstance(error, RuntimeError) and str(error) == NO_THREAD:
            return True
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    return False
