"""Folders and files that only their worker's user may open."""

from __future__ import annotations

import os
from pathlib import Path


def make_private(path: Path) -> None:
    """Make a folder, and those above it that are missing: all of them private. Raises `OSError`."""
    try:
        path.mkdir(mode=0o700, exist_ok=True)
    except FileNotFoundError:
        make_private(path.parent)
        path.mkdir(mode=0o700, exist_ok=True)


def new_file(path: Path, mode: int) -> int:
    """The descriptor of a file that was not there, to write into. Raises `OSError`."""
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, mode)
