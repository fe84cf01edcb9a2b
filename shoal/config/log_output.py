"""Where the log of a role goes: standard error, or files that are renamed when they are full.

Nothing here raises once it is open: a full disk costs lines of the log, and never stops a role.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from pathlib import Path

from model.errors import InvalidSettings

_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW


class LogOutput:
    """Lines on standard error. Lost lines are counted, and reported with the next line that can be written."""

    def __init__(self) -> None:
        self._fd = 2
        self._line = ""
        self._dropped = 0

    def write(self, text: str) -> int:
        """Write whole lines, each with one call: processes that share a file do not mix theirs."""
        *lines, self._line = (self._line + text).split("\n")
        for line in lines:
            self._write(f"{line}\n".encode(errors="replace"))
        return len(text)

    def flush(self) -> None:
        """Do nothing: only an unfinished line is buffered."""

    def isatty(self) -> bool:
        """Whether a person sees it."""
        return os.isatty(self._fd)

    def _write(self, line: bytes) -> None:
        try:
            self._make_room(len(line))
            if self._dropped:
                _write_all(self._fd, f'{{"event": "log_lines_dropped", "lines": {self._dropped}}}\n'.encode())
                self._dropped = 0
            _write_all(self._fd, line)
        except OSError:
            self._dropped += 1

    def _make_room(self, size: int) -> None:
        """Called before each line."""


class RotatingOutput(LogOutput):
    """Lines in a file. One that would exceed `bytes_max` is renamed to NAME.1, that one to NAME.2 and so on;
    `files_max` of them stay. If they cannot be renamed, lines are dropped.

    Raises:
        InvalidSettings: the file cannot be opened.
    """

    def __init__(self, path: Path, bytes_max: int, files_max: int) -> None:
        super().__init__()
        self._path = path.absolute()
        self._bytes_max = bytes_max
        self._files_max = files_max
        try:
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._fd = os.open(self._path, _FLAGS, 0o600)
        except OSError as error:
            raise InvalidSettings(
                f"the log file {self._path} cannot be opened ({error.strerror}); "
                f"fix log_file, or take it away: then the log goes to standard error"
            ) from None
        self._size = os.fstat(self._fd).st_size

    def isatty(self) -> bool:
        return False

    def _make_room(self, size: int) -> None:
        if self._size and self._size + size > self._bytes_max:
            self._rotate()
        self._size += size

    def _rotate(self) -> None:
        """Raises `OSError`."""
        if self._is_still_there():
            for number in range(self._files_max - 1, 0, -1):
                with suppress(FileNotFoundError):
                    self._numbered(number - 1).replace(self._numbered(number))
            if self._files_max == 1:
                self._path.unlink(missing_ok=True)
        fd = os.open(self._path, _FLAGS, 0o600)
        with suppress(OSError):
            if os.path.samestat(os.fstat(2), os.fstat(self._fd)):
                os.dup2(fd, 2)  # the last words of a process go there too
        os.close(self._fd)
        self._fd, self._size = fd, os.fstat(fd).st_size

    def _is_still_there(self) -> bool:
        """Whether the path still is this file: a person or another process may have renamed it."""
        with suppress(FileNotFoundError):
            return os.path.samestat(os.fstat(self._fd), self._path.lstat())
        return False

    def _numbered(self, number: int) -> Path:
        return self._path.with_name(f"{self._path.name}.{number}") if number else self._path


def _write_all(fd: int, data: bytes) -> None:
    if fd == 2:
        sys.stderr.flush()
    while data:
        data = data[os.write(fd, data) :]
