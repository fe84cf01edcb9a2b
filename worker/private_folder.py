"""Folders and files that only their worker's user may open."""

from __future__ import annotations

import os
from pathlib import Path


def make_private(path: Path) -> None:
    """Create a folder and its missing parents, all of them private. Raises `OSError`."""
    try:
        path.mkdir(mode=0o700, exist_ok=True)
    except FileNotFoundError:
        make_private(path.parent)
        path.mkdir(mode=0o700, exist_ok=True)


def new_file(path: Path, mode: int) -> int:
    """Create a file that must not exist, and return a descriptor for writing. Raises `OSError`."""
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, mode)
