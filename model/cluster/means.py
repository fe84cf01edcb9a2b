"""Temporary shortages of a machine: descriptors, processes, memory, disk space.

Such an error does not depend on the data: the same operation succeeds once the resource is available again. So it never
causes a refusal, and does not end a task that has not begun.
"""

from __future__ import annotations

import errno

PASSING = frozenset(
    {errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EAGAIN, errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EINTR}
    | {errno.ENOBUFS, errno.ESTALE, errno.ETIMEDOUT}
)

NO_THREAD = "can't start new thread"
"""Python's message at the limit of threads; the exception has no errno."""


def is_passing(error: BaseException | None) -> bool:
    """Whether this error or its cause is a shortage of an operating-system resource."""
    while error is not None:
        if isinstance(error, MemoryError) or (isinstance(error, OSError) and error.errno in PASSING):
            return True
        if isinstance(error, RuntimeError) and str(error) == NO_THREAD:
            return True
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    return False
