"""The address of a running `shoal up`: a file in its data folder, so that the other verbs need no URL.

It contains the database's password, so only its user can read it. It names the process that wrote it, since a killed
process leaves the file behind.
"""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass, field
from pathlib import Path

from model.cluster.nodes import ProcessIdentity
from registry.process import is_gone, this_process

FILE_NAME = "up.json"
LOG_STORE = "log-store"
"""The folder of the log store that `shoal up` has unless one is set."""


def default_folder() -> Path:
    """Where Shoal stores permanent data: the user's data folder, for root the system's."""
    if os.geteuid() == 0:
        return Path("/var/lib/shoal")
    given = Path(os.environ.get("XDG_DATA_HOME", ""))
    return (given if given.is_absolute() else Path.home() / ".local" / "share") / "shoal"


@dataclass(frozen=True)
class Whereabouts:
    """The database of a running `shoal up`, its process, and its API."""

    database_url: str = field(repr=False)
    process: ProcessIdentity
    api_url: str | None = None


def write_whereabouts(folder: Path, database_url: str, api_url: str | None = None) -> None:
    """Record that this process serves a database and an API. The folder must exist."""
    file = folder / FILE_NAME
    file.unlink(missing_ok=True)  # recreated, so that old permissions do not matter
    descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    with os.fdopen(descriptor, "w") as output:
        json.dump(asdict(Whereabouts(database_url, this_process(), api_url)), output)


def read_whereabouts(folder: Path) -> Whereabouts | None:
    """The running `shoal up` of this user in `folder`; None when there is none, or it ended without cleaning up."""
    try:
        if (folder / FILE_NAME).lstat().st_uid != os.geteuid():
            return None
        content = json.loads((folder / FILE_NAME).read_text())
        found = Whereabouts(content["database_url"], ProcessIdentity(**content["process"]), content.get("api_url"))
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return None if is_gone(found.process) else found


def unreadable_whereabouts(folder: Path) -> str | None:
    """Why a `shoal up` that may run in `folder` cannot be asked; None if nothing prevents it."""
    try:
        owner = (folder / FILE_NAME).lstat().st_uid
    except PermissionError:
        return f"the data folder {folder} is closed to this user"
    except OSError:
        return None
    return None if owner == os.geteuid() else f"the `shoal up` in {folder} is another user's"


def remove_whereabouts(folder: Path) -> None:
    (folder / FILE_NAME).unlink(missing_ok=True)
