"""A log store in a folder that all machines share, such as one of NFS.

A copy is written under another name, synced, and renamed: so nobody ever sees a part of it. What a killed process left
under such a name is deleted when `keys_after` comes by a day later.
"""

from __future__ import annotations

import errno
import os
import secrets
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from logstore.paths import FILE_FLAGS, open_folder
from logstore.protocol import MARK, Advanced
from model.errors import NotFound, Unavailable
from model.logs.name import name_of

PIECE_BYTES = 1 << 20
PART_SUFFIX = ".part"
PARTS_KEPT_S = 86_400.0
FOLDER_MODE, FILE_MODE = 0o770, 0o660
"""The group may read: an API may run as another user than the workers. The umask takes away what is too much."""
_MARK_BYTES_MAX = 200
_DEPTH = 3


class FolderStore:
    """See `LogStore`. `root` is never made: where nothing is mounted, logs would land on this machine's own disk."""

    def __init__(self, root: Path) -> None:
        self._root = root

    @property
    def place(self) -> str:
        return self._root.as_uri()

    def put(self, key: str, fd: int, begin: int, end: int, advanced: Advanced) -> None:
        *folders, last = key.split("/")
        part = f".{last}.{secrets.token_hex(8)}{PART_SUFFIX}"
        with self._errors():
            folder = open_folder(self._root, folders, make=True, mode=FOLDER_MODE)
            try:
                _write(folder, part, fd, begin, end, advanced)
                os.rename(part, last, src_dir_fd=folder, dst_dir_fd=folder)
            except BaseException:
                with suppress(OSError):
                    os.unlink(part, dir_fd=folder)
                raise
            finally:
                os.close(folder)

    def size(self, key: str) -> int:
        with self._opened(key) as fd:
            return os.fstat(fd).st_size

    def read(self, key: str, offset: int, limit: int) -> bytes:
        with self._opened(key) as fd:
            return os.pread(fd, limit, offset)

    def keys_after(self, after: str, limit: int) -> Sequence[str]:
        found: list[str] = []
        with self._errors():
            os.close(open_folder(self._root, (), make=False))
            for key in self._walk("", after, _DEPTH):
                found.append(key)
                if len(found) == limit:
                    break
        return found

    def delete(self, keys: Sequence[str]) -> None:
        """See `LogStore`. Folders that are empty then are deleted too."""
        with self._errors():
            for key in keys:
                *folders, last = key.split("/")
                with suppress(FileNotFoundError, NotADirectoryError):
                    folder = open_folder(self._root, folders, make=False)
                    try:
                        os.unlink(last, dir_fd=folder)
                    finally:
                        os.close(folder)
                with suppress(OSError):  # others are in it
                    for depth in range(len(folders), 0, -1):
                        self._root.joinpath(*folders[:depth]).rmdir()

    def mark(self) -> str | None:
        try:
            with self._opened(MARK) as fd:
                return os.read(fd, _MARK_BYTES_MAX).decode(errors="replace").strip()
        except NotFound:
            return None

    def set_mark(self, mark: str) -> str:
        part = f".{MARK}.{secrets.token_hex(8)}{PART_SUFFIX}"
        with self._errors():
            folder = open_folder(self._root, (), make=False)
            try:
                fd = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | FILE_FLAGS, FILE_MODE, dir_fd=folder)
                try:
                    os.write(fd, f"{mark}\n".encode())
                    os.fsync(fd)
                finally:
                    os.close(fd)
                try:
                    os.link(part, MARK, src_dir_fd=folder, dst_dir_fd=folder)
                except FileExistsError:
                    pass  # another was faster
                finally:
                    os.unlink(part, dir_fd=folder)
            finally:
                os.close(folder)
        return self.mark() or mark

    def _walk(self, above: str, after: str, depth: int) -> Iterator[str]:
        """The keys below a folder in order, after `after`, which has its beginning; what begins with none is read from
        the first."""
        first, _, rest = after.partition("/")
        folder = self._root / above
        for name in _names(folder):
            if depth == 0:
                if name.endswith(PART_SUFFIX):
                    _delete_old(folder / name)
                elif name > after and name_of(key := f"{above}{name}") is not None:
                    yield key
            elif name.isascii() and name.isdecimal() and name >= first:
                yield from self._walk(f"{above}{name}/", rest if name == first else "", depth - 1)

    @contextmanager
    def _opened(self, key: str) -> Iterator[int]:
        *folders, last = key.split("/")
        with self._errors():
            os.close(open_folder(self._root, (), make=False))
            try:
                folder = open_folder(self._root, folders, make=False)
                try:
                    fd = os.open(last, os.O_RDONLY | os.O_NONBLOCK | FILE_FLAGS, dir_fd=folder)
                finally:
                    os.close(folder)
            except (FileNotFoundError, NotADirectoryError):
                raise NotFound(f"the log store {self.place} has no {key}") from None
            try:
                if not stat.S_ISREG(os.fstat(fd).st_mode):
                    raise NotFound(f"{key} is no file in the log store {self.place}")
                yield fd
            finally:
                os.close(fd)

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise Unavailable(f"the log store {self.place} {_said(error)}") from error


def _said(error: OSError) -> str:
    match error.errno:
        case errno.ENOENT | errno.ENOTDIR:
            return "is not there: its folder does not exist on this machine; mount or make it"
        case errno.ENOSPC | errno.EDQUOT:
            return f"is full ({error.strerror}); make room there"
        case errno.EROFS:
            return "is read-only; mount it for writing"
        case errno.EACCES | errno.EPERM:
            return f"does not let us in ({error.strerror}); give its folder to the user that Shoal runs as"
        case _:
            return f"cannot be used ({error.strerror or type(error).__name__})"


def _write(folder: int, part: str, source: int, begin: int, end: int, advanced: Advanced) -> None:
    fd = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | FILE_FLAGS, FILE_MODE, dir_fd=folder)
    try:
        while begin < end:
            data = os.pread(source, min(PIECE_BYTES, end - begin), begin)
            if not data:
                raise OSError(errno.EIO, "the log became shorter while it was copied")
            begin += len(data)
            while data:
                data = data[os.write(fd, data) :]
            advanced()
        os.fsync(fd)
    finally:
        os.close(fd)


def _names(folder: Path) -> list[str]:
    """The names in a folder, in order; none in one that is gone meanwhile or is a link."""
    try:
        return [] if folder.is_symlink() else sorted(each.name for each in folder.iterdir())
    except (FileNotFoundError, NotADirectoryError):
        return []


def _delete_old(part: Path) -> None:
    """Delete what nobody has written to for a day, by the clock of the machine that has the folder."""
    probe = part.with_name(f".now.{secrets.token_hex(8)}{PART_SUFFIX}")
    with suppress(OSError):
        probe.touch(mode=FILE_MODE, exist_ok=False)
        now_s = probe.lstat().st_mtime
        probe.unlink()
        if now_s - part.lstat().st_mtime > PARTS_KEPT_S:
            part.unlink()
