"""One log file for each attempt of a task, under a path that is built from ids alone.

<root>/<yyyyMMdd>/<workflow code>/<workflow instance>/<task instance>.log

Each folder of the path is opened without following links, so that a task of the same user cannot redirect its worker
(or a reader). Writing is a plain `write` on the event loop: it takes microseconds into the page cache, less than a
thread would cost.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from logstore.paths import FILE_FLAGS, open_folder
from model.cluster.means import is_passing
from model.errors import NotFound, Refused, Unavailable
from model.logs.name import LogName
from worker.attempts.last_line import last_line_of, tail_of
from worker.logs import holes
from worker.secrets.masking import Masking

ENDING_BYTES = 65_536
"""The last bytes of a full log are buffered in memory up to this size, and written when it is closed: they show how it
ended."""

ROLLING_BLOCKS_MIN = 8
"""A log limited to fewer disk blocks does not roll."""

FIRST_LINE_BYTES_MAX = 65_536
"""How far the first whole line of a rolled log is searched."""

_CREATE_TRIES = 200


@dataclass(frozen=True)
class LogSlice:
    """A part of a log, and the size of the whole log when it was read. Bytes before `first` were discarded, and are
    zeros in `data`."""

    data: bytes
    size: int
    first: int = 0


class LogFile:
    """The `TaskLog` of one attempt: created lazily, private to the worker's user, bounded, secrets masked."""

    def __init__(
        self, root: Path, name: LogName, bytes_max: int, secrets: Sequence[str] = (), *, rolls: bool = False
    ) -> None:
        """`bytes_max` is the size after which only the end is retained; `secrets` never reach the disk.

        A log that `rolls` has no end for a long time: instead its oldest bytes are discarded, an eighth at a time. The
        others keep their places, so a reader continues where it was.
        """
        self._root = root
        self._name = name
        self._bytes_max = bytes_max
        self._secrets = tuple(secrets)
        self._masking = Masking(secrets)
        self._fd: int | None = None
        self._size = 0
        self._rolls = rolls
        self._block = 1
        self._discarded = 0
        self._is_full = False
        self._ending = b""
        self._dropped = 0
        self._tail = b""
        self._is_made = False

    @property
    def is_made(self) -> bool:
        """Whether the file exists, or did when it was closed."""
        return self._is_made

    def open(self) -> None:
        """Create the file now. Raises `OSError` if no output could be stored."""
        if self._fd is None:
            self._fd = self._create()

    def write(self, text: str | bytes) -> None:
        """Append, or buffer the end if the log is full.

        Raises:
            OSError: the log cannot be written (disk full, a link in its path).
        """
        self._append(self._masking.feed(text.encode() if isinstance(text, str) else text))

    def hide(self, secret: str) -> None:
        """Mask this secret too from now on."""
        self._secrets = (*self._secrets, secret)
        self._masking.add(secret)

    @property
    def secrets(self) -> tuple[str, ...]:
        return self._secrets

    def masked(self, text: str) -> str:
        """`text` as the log would show it, for texts about the task outside of the log."""
        return self._masking.masked(text)

    def last_line(self) -> str:
        self._append(self._masking.finish())
        return last_line_of(self._tail, masked=self.masked)  # colours may have stood in the middle of a secret

    def close(self) -> None:
        """Write what the masking held back and the end of a full log, and close the file."""
        try:
            self._append(self._masking.finish())
            if self._dropped:
                self._write(f"[shoal] {self._dropped} bytes were dropped here\n".encode())
            self._write(self._ending)
        finally:
            if self._fd is not None:
                os.close(self._fd)
                self._fd = None

    def _append(self, data: bytes) -> None:
        if not data:
            return
        self._tail = tail_of(self._tail, data)
        if self._is_full:
            self._add_ending(data)
            return
        if self._fd is None:
            self._fd = self._create()
        room = self._bytes_max - (self._size - self._discarded)
        if len(data) > room and not self._discard(self._size + len(data) - self._bytes_max):
            self._is_full = True
            notice = f"\n[shoal] the log is full ({self._bytes_max} bytes), only its end will be added\n"
            self._add_ending(data[max(room, 0) :])
            data = data[: max(room, 0)] + notice.encode()
        self._write(data)

    def _discard(self, least: int) -> bool:
        """Discard at least `least` bytes from the beginning, and an eighth more; False if that is impossible."""
        if not self._rolls or self._bytes_max < ROLLING_BLOCKS_MIN * self._block:
            return False
        assert self._fd is not None
        to = min(least + self._bytes_max // 8, self._size) // self._block * self._block
        if to <= self._discarded:
            return True
        try:
            holes.punch(self._fd, self._discarded, to)
        except OSError:  # the file system cannot: it is full like others
            self._rolls = False
            return False
        self._discarded = to
        return True

    def _add_ending(self, data: bytes) -> None:
        size = len(self._ending) + len(data)
        self._ending = (self._ending + data[-ENDING_BYTES:])[-ENDING_BYTES:]
        self._dropped += size - len(self._ending)

    def _write(self, data: bytes) -> None:
        if self._fd is None:
            return
        while data:
            written = os.write(self._fd, data)
            self._size += written
            data = data[written:]

    def _create(self) -> int:
        """Create the file. Retries if the task, or a cleanup of old logs, deletes a folder meanwhile."""
        for _ in range(_CREATE_TRIES - 1):
            # Python's `mkdir` raises FileExistsError for a folder that is deleted before it checks whether it is one.
            with suppress(FileNotFoundError, FileExistsError):
                return self._create_once()
        return self._create_once()

    def _create_once(self) -> int:
        try:
            folder = open_folder(self._root, self._name.folders, make=True)
        except FileNotFoundError:  # mostly there is a root
            self._root.mkdir(mode=0o700, parents=True, exist_ok=True)
            folder = open_folder(self._root, self._name.folders, make=True)
        try:
            fd = os.open(self._name.file, os.O_WRONLY | os.O_APPEND | os.O_CREAT | FILE_FLAGS, 0o600, dir_fd=folder)
        finally:
            os.close(folder)
        self._is_made = True
        facts = os.fstat(fd)
        self._size, self._block = facts.st_size, facts.st_blksize
        return fd


def read_log(root: Path, name: LogName, offset: int, limit: int) -> LogSlice:
    """Up to `limit` bytes from `offset` (bytes, from 0) of a log; empty if it is shorter. The rest of a rolled log
    begins with a whole line, unless its lines are very long.

    Raises:
        NotFound: nothing has been written, or not on this worker.
        Unavailable: the worker's machine is short of a resource.
        Refused: offset or limit is negative.
    """
    if offset < 0 or limit < 0:
        raise Refused("offset and limit of a log are numbers of bytes, 0 or more")
    try:
        fd = open_log(root, name)
    except OSError as error:
        if is_passing(error):
            raise Unavailable(f"the log cannot be read now: {error.strerror}") from error
        raise NotFound(f"this worker has no log of task instance {name.task_instance_id}: {error.strerror}") from error
    try:
        facts = os.fstat(fd)
        if not stat.S_ISREG(facts.st_mode):
            raise NotFound(f"the log of task instance {name.task_instance_id} is not a file")
        data = os.pread(fd, limit, offset)
        # After the data: what is discarded while it is read comes as zeros, and is before the first byte then.
        first = first_line_from(fd, holes.first_byte(fd, facts.st_size))
        return LogSlice(data, max(facts.st_size, first), first)
    finally:
        os.close(fd)


def open_log(root: Path, name: LogName) -> int:
    """The descriptor of a log, for reading. Raises `OSError`."""
    folder = open_folder(root, name.folders, make=False)
    try:
        return os.open(name.file, os.O_RDONLY | os.O_NONBLOCK | FILE_FLAGS, dir_fd=folder)
    finally:
        os.close(folder)


def first_line_from(fd: int, begin: int) -> int:
    """Where the first whole line begins from `begin` on, if the beginning of the log was discarded; else 0."""
    return begin + os.pread(fd, FIRST_LINE_BYTES_MAX, begin).find(b"\n") + 1 if begin else 0
