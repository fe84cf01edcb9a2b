"""This user's tokens for servers, stored by `shoal login` in a config file that nobody else can read."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlsplit

from model.errors import Refused

FILE_NAME = "logins.json"


def logins_file() -> Path:
    """The path of that file."""
    given = Path(os.environ.get("XDG_CONFIG_HOME", ""))
    return (given if given.is_absolute() else Path.home() / ".config") / "shoal" / FILE_NAME


def stored_token(server: str) -> str | None:
    """The token for a server, if there is one. Raises `Refused` if others could have read or written the file."""
    return _read(logins_file()).get(_origin(server))


def store_token(server: str, token: str | None) -> Path:
    """Store the token for a server in place of another; None: remove it. Raises `Refused`."""
    file = logins_file()
    left = {name: each for name, each in _read(file).items() if name != _origin(server)}
    if token is not None:
        left[_origin(server)] = token
    new = file.with_name(f".{FILE_NAME}.{os.getpid()}")
    try:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
        with os.fdopen(descriptor, "w") as output:
            json.dump(left, output, indent=2)
        new.replace(file)
    except OSError as error:
        new.unlink(missing_ok=True)
        raise Refused(f"the token cannot be stored in {file}: {error.strerror}; or give it as SHOAL_TOKEN") from None
    return file


def _read(file: Path) -> Mapping[str, str]:
    try:
        found = file.lstat()
        if found.st_uid != os.geteuid() or found.st_mode & 0o077:
            raise Refused(f"{file} must be yours and closed to others; chmod 600 it, or delete it and log in again")
        content = json.loads(file.read_text("utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise Refused(f"{file} cannot be read ({type(error).__name__}); delete it and log in again") from None
    if not isinstance(content, dict):
        raise Refused(f"{file} is not what `shoal login` writes; delete it and log in again")
    return {name: value for name, value in content.items() if isinstance(value, str)}


def _origin(server: str) -> str:
    """The canonical address of a server, however it is written."""
    parts = urlsplit(server)
    return f"{parts.scheme.lower()}://{parts.netloc.lower()}{parts.path.rstrip('/')}"
