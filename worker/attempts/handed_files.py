"""The files that an attempt gets from earlier tasks, and those that it hands on (`model/files/handed_files.py`)."""

from __future__ import annotations

import asyncio
import errno
import os
import re
import stat
from collections.abc import Callable, Mapping
from pathlib import Path

from dao.tasks.task_claims import ClaimedTask
from logstore import handed_files
from logstore.paths import FILE_FLAGS, open_folder
from logstore.protocol import Advanced, LogStore
from model.choices import ParameterType
from model.errors import Refused
from model.files.handed_files import (
    FILES_MAX,
    HandedFile,
    fault_of_output,
    files_in,
    files_left,
    handed_in,
    handed_on,
    has_handed,
    is_asked_for,
    paths_left,
    with_paths,
)
from model.files.task_files import WITHOUT_FOLDER
from worker.private_folder import make_private, new_file
from worker.results.recorded_ends import log_name
from worker.results.value_files import ValueFiles

FOLDER = "shoal_files"
"""The subfolder of an attempt's folder for files it gets; no file of a project has such a path."""
_LINKS = (errno.ELOOP, errno.ENOTDIR)


class HandedFiles:
    """Fetches and keeps the files of one worker's attempts.

    Args:
        values: has the log store.
        bytes_max: of all files that one attempt hands on.
    """

    def __init__(self, values: ValueFiles, bytes_max: int) -> None:
        self._values = values
        self._bytes_max = bytes_max

    async def fetched(
        self,
        task: ClaimedTask,
        values: Mapping[str, str],
        types: Mapping[str, ParameterType],
        folder: Callable[[], Path],
    ) -> dict[str, str]:
        """Fetch the files that the task needs, and return the path for each value that stands for one. A list of files
        becomes a folder with them, in order. Other JSON, and all that is declared as JSON, gets the path of each file
        inserted. A dry run only computes paths.

        Raises:
            Refused: a file has changed or is gone.
            Unavailable: the log store cannot be read now.
            OSError: a file cannot be written.
        """
        paths: dict[str, str] = {}
        known: dict[tuple[str, bool], str | None] = {}
        for name, value in values.items():
            if task.type in WITHOUT_FOLDER or not has_handed(value):
                continue
            is_named, of = is_asked_for(name, task.params), types.get(name)
            if not (is_named or of in (ParameterType.FILE, ParameterType.JSON)):
                continue
            key = (value, of is ParameterType.JSON and not is_named)
            if key not in known:
                place = folder() / FOLDER / str(len(known))
                known[key] = await self._placed(value, place, is_json=key[1], fetches=not task.dry_run)
            if (placed := known[key]) is not None:
                paths[name] = placed
        return paths

    async def _placed(self, value: str, place: Path, *, is_json: bool, fetches: bool) -> str | None:
        found = None if is_json else handed_in(value)
        if isinstance(found, HandedFile):
            files = {place / _plain(found.name): found}
        elif found is not None:
            files = _listed(place, found)
        else:
            files = {place / str(number) / _plain(file.name): file for number, file in enumerate(files_in(value))}
        for path, file in files.items() if fetches else ():
            await self._fetch(path, file)
        if found is None:
            by_file = {file: str(path) for path, file in files.items()}
            return await asyncio.to_thread(with_paths, value, by_file) if files else None
        return str(next(iter(files)) if isinstance(found, HandedFile) else place)

    async def _fetch(self, path: Path, file: HandedFile) -> None:
        if self._values.calls is None:
            raise Refused(f"{file.said} is in the log store, and log_store.url is not set here; set it as elsewhere")

        def fetch(store: LogStore, advanced: Advanced) -> None:
            make_private(path.parent)
            with os.fdopen(new_file(path, 0o600), "wb") as target:
                handed_files.fetch(store, advanced, file, target.fileno())

        await self._values.calls.run(fetch)

    def check_store(self, outputs: Mapping[str, str]) -> None:
        """Raises `Refused` if the task would certainly have nowhere to put its files."""
        if self._values.calls is None and (name := next((n for n, path in outputs.items() if path[:1] != "/"), None)):
            raise Refused(f'its OUT parameter "{name}" is a FILE, which goes into the log store: set log_store.url')

    async def kept(
        self, task: ClaimedTask, paths: Mapping[str, str], folder: Path, owner: int | None, masked: Callable[[str], str]
    ) -> dict[str, str]:
        """Store the files left at these paths, and return their values; an absolute path stands for itself.

        Args:
            folder: of the task.
            owner: the operating-system user of the task; None: the worker's.
            masked: removes the task's secrets from a name.
        Raises:
            Refused: a file does not exist, or the files are too large.
            Unavailable: the log store does not take them.
        """
        found, kept, left = {}, dict[str, HandedFile](), self._bytes_max
        for name, said in paths.items():
            if said.startswith("/") and not said.startswith(f"{folder}/"):
                found[name] = said
                continue
            given = await asyncio.to_thread(files_left, said, f"{folder}/")
            for path in paths_left(given):
                if (fault := fault_of_output(path)) is not None or not path:
                    raise Refused(f'its OUT parameter "{name}" is no file: "{path}" {fault or "is empty"}')
                if path.startswith("/"):
                    raise Refused(f'its OUT parameter "{name}" has the file "{path}", which is not in its folder')
                if path in kept:
                    continue
                if len(kept) >= FILES_MAX:
                    raise Refused(f"it hands on more than {FILES_MAX:,} files; pack them into one")
                key = log_name(task).file_key(len(kept))
                file = await self._keep(_Left(name, path, folder, owner), left, key)
                left -= file[0]
                kept[path] = HandedFile(key, masked(path.rpartition("/")[2]), *file, task.name)
            found[name] = await asyncio.to_thread(handed_on, given, kept, masked)
        return found

    async def _keep(self, file: _Left, bytes_max: int, key: str) -> tuple[int, str]:
        if self._values.calls is None:
            raise Refused(f"{file.said} cannot be handed on: log_store.url is not set on this worker")

        def put(store: LogStore, advanced: Advanced) -> tuple[int, str]:
            fd = file.opened()
            try:
                if os.fstat(fd).st_size > bytes_max:
                    raise Refused(
                        f"{file.said} is too large: all files that a task hands on have at most "
                        f"worker.output_files_bytes_max ({self._bytes_max:,} bytes)"
                    )
                return handed_files.put(store, advanced, key, fd)
            finally:
                os.close(fd)

        await self._values.verified()
        return await self._values.calls.run(put)


class _Left:
    """A file that a task left. Its folder may be full of links that lead elsewhere."""

    def __init__(self, name: str, path: str, folder: Path, owner: int | None) -> None:
        self.said = f'its OUT parameter "{name}", the file "{path}" of its folder,'
        self._path = path
        self._folder = folder
        self._owner = owner

    def opened(self) -> int:
        """Open the file and return its descriptor. Raises `Refused` if it is not the task's own file."""
        *folders, last = self._path.split("/")
        try:
            folder = open_folder(self._folder, folders, make=False)
            try:
                fd = os.open(last, os.O_RDONLY | os.O_NONBLOCK | FILE_FLAGS, dir_fd=folder)
            finally:
                os.close(folder)
        except FileNotFoundError:
            raise Refused(f"{self.said} is not there at its end; let it write one, or change the path") from None
        except OSError as error:
            if error.errno in _LINKS:
                raise Refused(f"{self.said} is a link, or behind one; leave the file itself") from None
            raise Refused(f"{self.said} cannot be read: {error.strerror}") from None
        facts = os.fstat(fd)
        if stat.S_ISREG(facts.st_mode) and self._owner in (None, facts.st_uid):
            return fd
        os.close(fd)
        what = "belongs to another user" if stat.S_ISREG(facts.st_mode) else "is no plain file; pack a folder into one"
        raise Refused(f"{self.said} {what}")


def _listed(place: Path, files: list[HandedFile]) -> dict[Path, HandedFile]:
    digits = len(str(len(files)))
    return {place / f"{number:0{digits}}-{_plain(file.name)}": file for number, file in enumerate(files)}


def _plain(name: str) -> str:
    """A name with its suffix, without characters that are special to a shell."""
    return re.sub(r"[^\w.+-]", "_", name.rpartition("/")[2])[-100:].lstrip(".-") or "file"
