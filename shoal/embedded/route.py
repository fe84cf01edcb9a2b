"""A path to the server's socket that works for any name of the data folder.

The server creates its socket in its own folder, as `.`: private by construction, and no cleaner of /tmp deletes it. A
client must give the path, of 107 bytes at most, and libpq interprets a comma, `+` or `%` in it. If the path is not
usable, a link in a short private folder points to the data folder.
"""

from __future__ import annotations

import hashlib
import os
import re
from pathlib import Path

from shoal.embedded.place import private_folder

SOCKET = ".s.PGSQL.5432"
PATH_BYTES_MAX = 107


def socket_folder(data: Path) -> Path:
    """The folder to use as `host`: `data` itself, or a link to it that is created now.

    Raises:
        Refused: other users can access the folder for such links.
    """
    if _will_do(data):
        return data
    link = _link_to(data)
    private_folder(link.parent)
    link.unlink(missing_ok=True)
    link.symlink_to(data)
    return link


def remove_link(data: Path) -> None:
    if not _will_do(data):
        _link_to(data).unlink(missing_ok=True)


def _will_do(folder: Path) -> bool:
    return _is_plain(folder) and len(os.fsencode(folder / SOCKET)) <= PATH_BYTES_MAX


def _is_plain(path: Path) -> bool:
    """Whether it has no character that libpq or a URL's query interprets."""
    return re.fullmatch(r"[A-Za-z0-9/._-]+", str(path)) is not None


def _link_to(data: Path) -> Path:
    name = hashlib.sha256(os.fsencode(data)).hexdigest()[:16]
    return _runtime_folder() / f"shoal-{os.geteuid()}" / name


def _runtime_folder() -> Path:
    """The folder for temporary files: the user's own runtime folder, /run for root, else /tmp."""
    shared = Path("/tmp")  # noqa: S108 - anything created there is private, or refused
    own = Path("/run") if os.geteuid() == 0 else Path(os.environ.get("XDG_RUNTIME_DIR", shared))
    usable = own.is_dir() and os.access(own, os.W_OK | os.X_OK) and len(os.fsencode(own)) < PATH_BYTES_MAX // 2
    return own if usable and _is_plain(own) else shared
