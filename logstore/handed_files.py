"""Files that tasks hand on (`model/files/handed_files.py`), beside the copies of logs; never whole in memory.

They block, as a log store does.
"""

from __future__ import annotations

import hashlib
import os

from logstore.protocol import Advanced, LogStore
from model.errors import NotFound, Refused
from model.files.handed_files import HandedFile

READ_BYTES = 4 << 20


def put(store: LogStore, advanced: Advanced, key: str, fd: int) -> tuple[int, str]:
    """Keep an open file, whose processes have ended; its size and SHA-256. Raises `Unavailable` and `OSError`."""
    digest, size = hashlib.sha256(), 0
    while piece := os.pread(fd, READ_BYTES, size):
        digest.update(piece)
        size += len(piece)
        advanced()
    store.put(key, fd, 0, size, advanced)
    return size, digest.hexdigest()


def fetch(store: LogStore, advanced: Advanced, file: HandedFile, fd: int) -> None:
    """Write it into an open file. Raises `Refused` if it is no longer there as it was, `Unavailable`, `OSError`."""
    digest, done = hashlib.sha256(), 0
    where = f"{file.said}, {file.key} in the log store {store.place},"
    cure = f'run "{file.task}" again'
    try:
        is_whole = store.size(file.key) == file.size
        while is_whole and done < file.size:
            piece = store.read(file.key, done, min(READ_BYTES, file.size - done))
            digest.update(piece)
            _write(fd, piece)
            done += len(piece)
            is_whole = bool(piece)
            advanced()
    except NotFound:
        raise Refused(f"{where} is missing; {cure}") from None
    if not is_whole or digest.hexdigest() != file.sha256:
        raise Refused(f"{where} was changed, by its checksum; {cure}")


def _write(fd: int, piece: bytes) -> None:
    left = memoryview(piece)
    while left:
        left = left[os.write(fd, left) :]
