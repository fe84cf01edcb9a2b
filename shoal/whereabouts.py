"""Where a running `shoal up` can be asked: a file in its data folder, so that the other verbs need no URL.

It holds the database's password, so it is for its user alone. It names the process that wrote it: one that was killed
could not take it away.
"""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass, field
from pathlib import Path

from model.nodes import ProcessIdentity
from registry.process import is_gone, this_process

FILE_NAME = "up.json"


@dataclass(frozen=True)
class Whereabouts:
    """The database of a running `shoal up`, and whose it is."""

    database_url: str = field(repr=False)
    process: ProcessIdentity


def write_whereabouts(folder: Path, database_url: str) -> None:
    """Say that this process serves `database_url`. The folder must exist."""
    file = folder / FILE_NAME
    file.unlink(missing_ok=True)  # whatever is there, with whatever permissions: it is made anew
    descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    with os.fdopen(descriptor, "w") as output:
        json.dump(asdict(Whereabouts(database_url, this_process())), output)


def read_whereabouts(folder: Path) -> Whereabouts | None:
    """The running `shoal up` of this user in `folder`; None when there is none, or it ended without a word."""
    try:
        if (folder / FILE_NAME).lstat().st_uid != os.geteuid():
            return None
        content = json.loads((folder / FILE_NAME).read_text())
        found = Whereabouts(content["database_url"], ProcessIdentity(**content["process"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return None if is_gone(found.process) else found


def remove_whereabouts(folder: Path) -> None:
    """Nobody is to be asked here any more."""
    (folder / FILE_NAME).unlink(missing_ok=True)
