"""A small disk for a worker's folder, which can be filled; only root can mount one, and not in every container."""

from __future__ import annotations

import contextlib
import ctypes
import os
import shutil
import subprocess
from pathlib import Path

SIZE = 64 * 1024 * 1024
FREE_MIN = SIZE // 4
"""The free space that its worker requires (`worker.load.disk_free_min`)."""


_CLONE_NEWNS = 0x20000


def mount_apart() -> None:
    """Let what this process mounts from now on be seen by it and its children alone, and end with them."""
    if os.geteuid() == 0 and ctypes.CDLL(None).unshare(_CLONE_NEWNS) == 0:
        subprocess.run(["mount", "--make-rprivate", "/"], check=True)


class SmallDisk:
    """Mounted on construction, if that can be; `close` it."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        self.folder = folder
        self._ballast = folder / "ballast"
        command = ["mount", "-t", "tmpfs", "-o", f"size={SIZE}", "none", str(folder)]
        self.is_there = os.geteuid() == 0 and subprocess.run(command, capture_output=True, check=False).returncode == 0

    def fill(self, but: int) -> None:
        """Fill the disk up to this many free bytes."""
        with contextlib.suppress(OSError), self._ballast.open("ab", buffering=0) as ballast:
            while (left := shutil.disk_usage(self.folder).free - but) > 0:
                ballast.write(bytes(min(left, 1024 * 1024)))

    def empty(self) -> None:
        self._ballast.unlink(missing_ok=True)

    def close(self) -> None:
        """Also while something in it is still open."""
        if self.is_there:
            subprocess.run(["umount", "--lazy", str(self.folder)], check=True)
