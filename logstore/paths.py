"""Opens folders below a root without following links, so that nobody who may write there can redirect us."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

FOLDER_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
FILE_FLAGS = os.O_NOFOLLOW | os.O_CLOEXEC


def open_folder(root: Path, parts: Sequence[str], *, make: bool, mode: int = 0o700) -> int:
    """The descriptor of the folder below `root`, each part opened relative to the one before. Raises `OSError`.

    `make`: missing parts are made, the root is not.
    """
    folder = os.open(root, FOLDER_FLAGS & ~os.O_NOFOLLOW)  # the root itself may be the operator's link
    for part in parts:
        try:
            try:
                below = os.open(part, FOLDER_FLAGS, dir_fd=folder)
            except FileNotFoundError:
                if not make:
                    raise
                with suppress(FileExistsError):
                    os.mkdir(part, mode, dir_fd=folder)
                below = os.open(part, FOLDER_FLAGS, dir_fd=folder)
        finally:
            os.close(folder)
        folder = below
    return folder
