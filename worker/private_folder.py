"""Folders that only their worker's user may open."""

from __future__ import annotations

from pathlib import Path


def make_private(path: Path) -> None:
    """Make a folder, and those above it that are missing: all of them private. Raises `OSError`."""
    try:
        path.mkdir(mode=0o700, exist_ok=True)
    except FileNotFoundError:
        make_private(path.parent)
        path.mkdir(mode=0o700, exist_ok=True)
