"""A file with one secret, as systemd credentials, Kubernetes and container engines provide them.

The file may belong to another user, and a group may read it: that is how these provide it. Everybody may not.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

from model.errors import InvalidSettings

BYTES_MAX = 100_000


def read_secret(path: Path, setting: str) -> str:
    """The secret, without the white space around it.

    Raises:
        InvalidSettings: the file of this setting cannot be read, is open to everybody, or has no text.
    """
    try:
        with path.open("rb") as file:
            facts = os.fstat(file.fileno())
            if not stat.S_ISREG(facts.st_mode):
                raise InvalidSettings(f"{setting} {path} is no file; name the file that has the secret")
            if facts.st_mode & 0o007:
                raise InvalidSettings(f"{setting} {path} is open to every user of this machine; chmod 600 it")
            text = file.read(BYTES_MAX).decode().strip()
    except OSError as error:
        raise InvalidSettings(f"{setting} {path} cannot be read: {error.strerror}; correct the path") from None
    except UnicodeDecodeError:
        raise InvalidSettings(f"{setting} {path} is not UTF-8; write the secret as text") from None
    if not text:
        raise InvalidSettings(f"{setting} {path} is empty; write the secret into it")
    return text
