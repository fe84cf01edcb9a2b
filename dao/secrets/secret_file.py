"""A file with one secret, as systemd credentials, Kubernetes and container engines provide them.

The file may belong to another user, and a group may read it: that is how these provide it. Everybody may not.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

from model.errors import InvalidSettings

BYTES_MAX = 100_000
EVERYBODY, OTHERS = 0o007, 0o077
"""Who must have no rights: everybody but a group, or all but the owner."""


def read_secret(path: Path, setting: str) -> str:
    """The secret, without the white space around it.

    Raises:
        InvalidSettings: the file of this setting cannot be read, is open to everybody, or has no text.
    """
    text = read_closed(path, setting, EVERYBODY, "correct the path").strip()
    if not text:
        raise InvalidSettings(f"{setting} {path} is empty; write the secret into it")
    return text


def read_closed(path: Path, setting: str, to: int, cure: str) -> str:
    """The text of a file that is closed `to` whom it must be. Raises `InvalidSettings`, with the cure for no file."""
    try:
        with path.open("rb") as file:
            facts = os.fstat(file.fileno())
            if not stat.S_ISREG(facts.st_mode):
                raise InvalidSettings(f"{setting} {path} is no file; {cure}")
            if facts.st_mode & to:
                whom = "every user" if to == EVERYBODY else "other users"
                raise InvalidSettings(f"{setting} {path} is open to {whom} of this machine; chmod 600 it")
            return file.read(BYTES_MAX).decode()
    except OSError as error:
        raise InvalidSettings(f"{setting} {path} cannot be read: {error.strerror}; {cure}") from None
    except UnicodeDecodeError:
        raise InvalidSettings(f"{setting} {path} is not UTF-8; write the secret as text") from None
