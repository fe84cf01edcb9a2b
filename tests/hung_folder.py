"""A file system that never answers, like a dead network server: every access hangs until it is unmounted.

It is FUSE without a program behind it. Only root can mount it, on a machine that has /dev/fuse.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_MNT_DETACH = 2
_libc = ctypes.CDLL(None, use_errno=True)


class NoHungFolder(Exception):
    """This machine allows no such mount."""


@contextmanager
def hung_folder(folder: Path) -> Iterator[Path]:
    """An absent folder is made, and hangs within the block; what hung in it then goes on with an error.

    Raises `NoHungFolder`.
    """
    folder.mkdir()
    try:
        device = os.open("/dev/fuse", os.O_RDWR | os.O_CLOEXEC)
    except OSError as error:
        raise NoHungFolder(str(error)) from error
    try:
        options = f"fd={device},rootmode=40000,user_id={os.getuid()},group_id={os.getgid()},allow_other"
        if _libc.mount(b"none", bytes(folder), b"fuse", 0, options.encode()):
            raise NoHungFolder(os.strerror(ctypes.get_errno()))
        try:
            yield folder
        finally:
            _libc.umount2(bytes(folder), _MNT_DETACH)
    finally:
        os.close(device)  # this ends the connection, and with it every call that waits for an answer
