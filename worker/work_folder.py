"""The work folder of one attempt."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path

from worker.private_folder import make_private


class WorkFolder:
    """Made at the first access. That it was made is remembered: checking the disk for each attempt took a sixth of a
    worker's time with FAKE tasks."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._is_made = False

    def make(self) -> Path:
        """Its path; it exists from now on. Raises `OSError`."""
        self._is_made = True
        make_private(self.path)
        return self.path

    async def remove(self) -> None:
        """Delete it with all that is in it, if it was made."""
        if not self._is_made:
            return
        try:
            await asyncio.to_thread(shutil.rmtree, self.path, ignore_errors=True)
        except RuntimeError:  # no thread can be started now: that must not change how the attempt ended
            shutil.rmtree(self.path, ignore_errors=True)
