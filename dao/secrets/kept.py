"""What lies in files that may be replaced while the process works: certificates, keys, passwords.

Each use looks first whether the files have changed; SIGHUP has all of them read at once. While new files are wrong, the
former value stays in use.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Generic, TypeVar
from weakref import ref

from pydantic import SecretStr

from dao.logger import logger
from dao.secrets.secret_file import read_secret
from model.errors import InvalidSettings

log = logger()

Value = TypeVar("Value")
_Stamp = tuple[tuple[int, int, int], ...]
_of_this_process: list[ref[Kept[Any]]] = []
"""A list, since any thread may append while another one goes through it."""


class Kept(Generic[Value]):
    """The value of these files.

    Args:
        paths: the files.
        read: makes the value of them. Raises `InvalidSettings` while they are wrong; at first it is passed on.
        what: it is, in words.

    `value` is as it was last read.
    """

    former: Value | None = None
    """What it was before the last change."""

    def __init__(self, paths: Sequence[Path], read: Callable[[], Value], *, what: str) -> None:
        self._paths, self._read, self._what = paths, read, what
        self._seen = self._stamp()
        self.value = read()
        if paths:
            _of_this_process.append(ref(self, _of_this_process.remove))

    def now(self) -> Value:
        """As the files are, or as they were while they are wrong."""
        if self._stamp() != self._seen:
            self.read_again()
        return self.value

    def read_again(self) -> bool:
        """Read the files whether they have changed or not; whether they are right."""
        self._seen = self._stamp()  # before it reads: the next use sees what changes meanwhile
        file = str(self._paths[0])
        try:
            value = self._read()
        except InvalidSettings as wrong:
            log.warning(
                "file_not_read",
                what=self._what,
                file=file,
                error=str(wrong),
                so="the former one stays in use; correct the file",
            )
            return False
        if value != self.value:
            self.former, self.value = self.value, value
        log.info("file_read", what=self._what, file=file)
        return True

    def _stamp(self) -> _Stamp:
        """Changes whenever one of the files does."""
        stamps = []
        for path in self._paths:
            try:
                found = path.stat()
            except OSError:
                stamps.append((0, 0, 0))
            else:
                stamps.append((found.st_ino, found.st_mtime_ns, found.st_size))
        return tuple(stamps)


def kept_secret(path: Path, setting: str) -> Kept[str]:
    """The secret of a setting's file. Raises as `read_secret`."""
    return Kept([path], lambda: read_secret(path, setting), what=setting)


class FileSecret(SecretStr):
    """What a file has now."""

    def __init__(self, path: Path, setting: str) -> None:
        self.path = path.absolute()
        self._kept = kept_secret(self.path, setting)
        super().__init__(self._kept.value)

    def get_secret_value(self) -> str:
        return self._kept.now()


def read_all_again() -> bool:
    """Read the files of all values of this process; whether all are right."""
    right = [kept.read_again() for each in list(_of_this_process) if (kept := each()) is not None]
    return all(right)
