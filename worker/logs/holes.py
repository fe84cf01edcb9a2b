"""Holes in files: bytes returned to the disk, while those after them keep their places.

Only Linux's `fallocate` makes them, and not on all file systems.
"""

from __future__ import annotations

import ctypes
import errno
import os

_KEEP_SIZE, _PUNCH_HOLE = 1, 2
_libc = ctypes.CDLL(None, use_errno=True)
_libc.fallocate.argtypes = [ctypes.c_int, ctypes.c_int, ctypes.c_int64, ctypes.c_int64]


def punch(fd: int, begin: int, end: int) -> None:
    """Return the bytes from `begin` up to `end` of a file to the disk; both are block boundaries.

    Raises:
        OSError: the file system cannot.
    """
    while _libc.fallocate(fd, _PUNCH_HOLE | _KEEP_SIZE, begin, end - begin) != 0:
        if (number := ctypes.get_errno()) != errno.EINTR:
            raise OSError(number, os.strerror(number))


def first_byte(fd: int, size: int) -> int:
    """The first remaining byte of a file of that size whose beginning was returned; otherwise 0."""
    try:
        return os.lseek(fd, 0, os.SEEK_DATA) if size else 0
    except OSError as error:
        if error.errno == errno.ENXIO:  # nothing but a hole
            return size
        if error.errno == errno.EINVAL:  # a file system without holes
            return 0
        raise
