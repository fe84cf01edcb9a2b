"""The layout of the folder that Shoal was given.

Everything is below one subfolder of ours, 0700, so that the given folder may belong to another user and contain other
things: its permissions, and those of its parents, are never changed.
"""

from __future__ import annotations

import os
import secrets
from dataclasses import dataclass
from pathlib import Path

from model.errors import Refused

LOG_BYTES_MAX = 10_000_000
"""A larger log is renamed at the next start, once: two files at most."""


@dataclass(frozen=True)
class Place:
    """Our subfolder and its contents."""

    folder: Path

    @property
    def data(self) -> Path:
        """PostgreSQL's data folder: exists only when it is complete."""
        return self.folder / "data"

    @property
    def unfinished(self) -> Path:
        """An incomplete data folder; the remains of a crash are deleted."""
        return self.folder / "unfinished"

    @property
    def log(self) -> Path:
        return self.folder / "postgres.log"

    @property
    def owner_lock(self) -> Path:
        """Locked and signed by the process that owns the server."""
        return self.folder / "owner.lock"

    @property
    def server_lock(self) -> Path:
        """Locked by the server and its children."""
        return self.folder / "server.lock"

    @property
    def password_file(self) -> Path:
        """The password of the role `shoal`, 0600."""
        return self.folder / "password"

    def new_password(self) -> str:
        """Create the password of a data folder that does not exist yet."""
        assert not self.data.exists()
        password = secrets.token_urlsafe(32)
        descriptor = os.open(self.password_file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
        with os.fdopen(descriptor, "w") as file:
            file.write(password)
            file.flush()
            os.fsync(descriptor)
        return password

    def password(self) -> str:
        """The password of the existing data folder.

        Raises:
            Refused: it is missing.
        """
        try:
            return self.password_file.read_text()
        except OSError as error:
            raise Refused(
                f"the password file {self.password_file} cannot be read ({error.strerror}): put it back, or move "
                f"{self.data} away to begin again"
            ) from error

    def open_log(self) -> int:
        """The log's descriptor, positioned at the end."""
        if self.log.exists() and self.log.stat().st_size > LOG_BYTES_MAX:
            self.log.replace(self.log.with_suffix(".log.1"))
        return os.open(self.log, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW, 0o600)


def place_in(folder: Path) -> Place:
    """The place for PostgreSQL in `folder`, which is created if it does not exist.

    Raises:
        Refused: it cannot be created, or other users can access it.
    """
    folder = folder.absolute()
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise Refused(f"the folder {folder} cannot be made: {error.strerror}; choose another") from error
    return Place(private_folder(folder / "postgres"))


def private_folder(path: Path) -> Path:
    """`path`, a folder that only we can access, created if it does not exist.

    Its parent may be writable for all users (`/tmp`), so another user may have created it first.

    Raises:
        Refused: it cannot be created, or other users can access it.
    """
    try:
        path.mkdir(mode=0o700, exist_ok=True)
        found = path.lstat()
    except OSError as error:
        raise Refused(f"the folder {path} cannot be made: {error.strerror}; choose another") from error
    if path.is_symlink() or found.st_uid != os.geteuid() or found.st_mode & 0o077:
        raise Refused(
            f"{path} must be a folder that is yours and closed to others (chmod 700), or not be there; "
            "or choose another --folder"
        )
    return path
