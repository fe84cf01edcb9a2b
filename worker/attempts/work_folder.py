"""The work folder of one attempt."""

from __future__ import annotations

import asyncio
import os
import shutil
from contextlib import suppress
from functools import cached_property
from itertools import islice
from pathlib import Path

from logstore.paths import FOLDER_FLAGS
from worker.private_folder import make_private

FEW = 4
SMALL_BYTES = 65_536
"""At most this much is deleted on the event loop, which is faster than to start a thread."""


class WorkFolder:
    """The folder, created at the first access. It remembers its creation: checking the disk for each attempt took a
    sixth of a worker's time with FAKE tasks."""

    def __init__(self, folders: Path, name: str) -> None:
        self.is_made = False
        self._folders = folders
        self._name = name

    @cached_property
    def path(self) -> Path:
        """Its path, whether or not it exists."""
        return self._folders / self._name

    def make(self) -> Path:
        """Create the folder and return its path. Raises `OSError`."""
        self.is_made = True
        make_private(self.path)
        return self.path

    async def remove(self) -> None:
        """Delete the folder with its content, if it was made."""
        if not self.is_made or self._is_removed_at_once():
            return
        try:
            await asyncio.to_thread(shutil.rmtree, self.path, ignore_errors=True)
        except RuntimeError:  # no thread can be started now: that must not change how the attempt ended
            shutil.rmtree(self.path, ignore_errors=True)

    def _is_removed_at_once(self) -> bool:
        """Delete the folder if it is small; otherwise delete a part of it or nothing, and return False."""
        with suppress(OSError):
            folder = os.open(self.path, FOLDER_FLAGS)
            try:
                with os.scandir(folder) as entries:
                    found = list(islice(entries, FEW + 1))
                if len(found) > FEW or not all(_is_small_file(each) for each in found):
                    return False
                for each in found:
                    os.unlink(each.name, dir_fd=folder)
            finally:
                os.close(folder)
            os.rmdir(self.path)  # noqa: PTH106 - `Path` costs more than the call
            return True
        return False


def _is_small_file(entry: os.DirEntry[str]) -> bool:
    return not entry.is_dir(follow_symlinks=False) and entry.stat(follow_symlinks=False).st_size <= SMALL_BYTES
