"""The user that PostgreSQL runs as: ourselves, or, since it refuses root, a reserved user id when we are root.

initdb requires a uid with a name, the server does not. So when we are root initdb runs as `nobody`, and its files
are then given to a uid that nobody else uses. No account is created, and a process that runs as `nobody` cannot read or
stop the database later.
"""

from __future__ import annotations

import os
import pwd
from dataclasses import dataclass
from pathlib import Path

from model.errors import Refused

SERVER_UID = 60_600
"""Neither Linux distributions nor systemd assign 60578 to 61183; and it exists in a container with 65536 ids."""


@dataclass(frozen=True)
class Account:
    """The user that a program runs as; it never keeps our supplementary groups."""

    uid: int
    gid: int


SERVER = Account(SERVER_UID, SERVER_UID)


def of_server() -> Account | None:
    """The server's user; None: ourselves."""
    return SERVER if os.geteuid() == 0 else None


def of_initdb() -> Account | None:
    """The user of initdb; None: ourselves.

    Raises:
        Refused: we are root on a system without the account `nobody`.
    """
    if os.geteuid() != 0:
        return None
    try:
        nobody = pwd.getpwnam("nobody")
    except KeyError:
        raise Refused(
            "PostgreSQL does not run as root and this system has no account `nobody` to run it as: start Shoal as an "
            "ordinary user"
        ) from None
    return Account(nobody.pw_uid, nobody.pw_gid)


def give_to(folder: Path, account: Account | None) -> None:
    """Change the owner of `folder` and everything in it to the account; nothing to do for None.

    Uses open folders and follows no link: nothing outside `folder` changes, whatever it contains.

    Raises:
        Refused: this container has no such user id.
    """
    if account is None:
        return
    try:
        for _, folders, files, here in os.fwalk(folder, follow_symlinks=False):
            os.fchown(here, account.uid, account.gid)
            for name in (*folders, *files):
                os.chown(name, account.uid, account.gid, dir_fd=here, follow_symlinks=False)
    except OSError as error:
        raise Refused(
            f"PostgreSQL does not run as root and user id {account.uid} cannot be used instead "
            f"({error.strerror}): start Shoal as an ordinary user"
        ) from error
