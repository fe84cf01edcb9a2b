"""The file contents that a worker caches for tasks: read once from the database, verified at each use.

A content is a file named by its hash in one folder. When all of them exceed the limit, the least recently used are
deleted. Nothing depends on the cache: missing or damaged contents are read again.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from dao.definitions import files
from dao.postgres.database import Database
from model.errors import Refused
from model.files.paths import fault_of_path
from worker.private_folder import make_private, new_file

AT_ONCE = 8
"""How many contents are in memory at once."""


class FileCache:
    """One worker's cache in `folder`, at most `bytes_max`."""

    def __init__(self, database: Database, folder: Path, bytes_max: int) -> None:
        self._database = database
        self._folder = folder
        self._bytes_max = bytes_max

    async def put_into(self, work_folder: Path, wanted: Mapping[str, str]) -> None:
        """Put files into the folder of a task that has not begun.

        Args:
            wanted: path -> hash of each file.
        Raises:
            Refused: the content of a file is unknown, or its path is invalid.
            Unavailable: the database cannot be read now.
            OSError: a file cannot be written.
        """
        for path, content_hash in wanted.items():
            if (fault := fault_of_path(path)) is not None:
                raise Refused(f'the file "{path}" {fault}')
            if not content_hash:
                raise Refused(f'the version of the workflow has no content of "{path}"; save the workflow again')
        missing = await asyncio.to_thread(self._copy_all, work_folder, wanted)
        for at in range(0, len(missing), AT_ONCE):
            await self._fetch(work_folder, {path: wanted[path] for path in missing[at : at + AT_ONCE]})
        if missing:
            await asyncio.to_thread(self._make_room)

    async def _fetch(self, work_folder: Path, wanted: Mapping[str, str]) -> None:
        contents = await self._database.read(files.contents, set(wanted.values()))
        if lost := next((path for path, each in wanted.items() if each not in contents), None):
            raise Refused(f'the content of the file "{lost}" is gone; save the workflow again')
        await asyncio.to_thread(self._keep, work_folder, wanted, contents)

    def _copy_all(self, work_folder: Path, wanted: Mapping[str, str]) -> list[str]:
        """Copy the cached files; returns the paths of the others."""
        return [path for path, each in wanted.items() if not self._copy(work_folder, path, each)]

    def _copy(self, work_folder: Path, path: str, content_hash: str) -> bool:
        kept = self._folder / content_hash
        try:
            content = kept.read_bytes()
        except FileNotFoundError:
            return False
        if files.hash_of(content) != content_hash:
            kept.unlink(missing_ok=True)
            return False
        with suppress(FileNotFoundError):
            os.utime(kept)
        _write(work_folder / path, content)
        return True

    def _keep(self, work_folder: Path, wanted: Mapping[str, str], contents: Mapping[str, bytes]) -> None:
        make_private(self._folder)
        for content_hash, content in contents.items():
            new = self._folder / f".{content_hash}.{os.getpid()}.{os.urandom(8).hex()}"
            try:
                _write(new, content)
                new.replace(self._folder / content_hash)
            finally:
                new.unlink(missing_ok=True)
        for path, content_hash in wanted.items():
            _write(work_folder / path, contents[content_hash])

    def _make_room(self) -> None:
        kept = []
        for each in self._folder.iterdir():
            with suppress(FileNotFoundError):  # another task made room, or has its name now
                kept.append((each.stat(), each))
        used = 0
        for stat, path in sorted(kept, key=lambda each: -each[0].st_mtime_ns):
            used += stat.st_size
            if used > self._bytes_max:
                path.unlink(missing_ok=True)


def _write(path: Path, content: bytes) -> None:
    """Create a file private to this user; executable if it begins with `#!`."""
    make_private(path.parent)
    mode = 0o700 if content.startswith(b"#!") else 0o600
    with os.fdopen(new_file(path, mode), "wb") as file:
        file.write(content)
