"""The work folder of one attempt."""

from __future__ import annotations

import asyncio
import shutil
from functools import cached_property
from pathlib import Path

from worker.private_folder import make_private


class WorkFolder:
    """Made at the first access. That it was made is remembered: checking the disk for each attempt took a sixth of a
    worker's time with FAKE tasks."""

    def __init__(self, folders: Path, name: str) -> None:
        self.is_made = False
        self._folders = folders
        self._name = name

    @cached_property
    def path(self) -> Path:
        """Its path, whether it exists or not."""
        return self._folders / self._name

    def make(self) -> Path:
        """Its path; it exists from now on. Raises `OSError`."""
        self.is_made = True
        make_private(self.path)
        return self.path

    async def remove(self) -> None:
        """Delete it with all that is in it, if it was made."""
        if not self.is_made:
            return
        try:
            await asyncio.to_thread(shutil.rmtree, self.path, ignore_errors=True)
        except RuntimeError:  # no thread can be started now: that must not change how the attempt ended
            shutil.rmtree(self.path, ignore_errors=True)
