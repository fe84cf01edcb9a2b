"""Copies of PostgreSQL's programs in a place where its account can run them.

When we are root and the virtual environment is in root's private home, the server's account cannot access the wheel's
programs. Opening the home is not acceptable; letting the server keep CAP_DAC_READ_SEARCH would let it read every file
of the machine; a private mount needs rights that containers do not give. So the required files (25 MB) are copied once
to /var/cache, where they may be deleted at any time.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import signal
import tempfile
from asyncio.subprocess import DEVNULL
from dataclasses import replace
from pathlib import Path

from model.errors import Refused
from shoal.embedded.account import Account
from shoal.embedded.binaries import Installation
from shoal.embedded.program import spawn

CACHE = Path("/var/cache/shoal")


async def runnable_by(account: Account | None, installation: Installation) -> Installation:
    """The installation itself if `account` can run it, else a copy that it can run.

    Args:
        account: None is ourselves, who have already run it.
        installation: where the programs are.
    Raises:
        Refused: it cannot be run, and no copy can be made.
    """
    if account is None or await _runs(installation, account):
        return installation
    if not installation.copied:
        raise Refused(f"user id {account.uid} cannot run {installation.postgres}: open that path to other users")
    try:
        copy = _copy(installation)
    except OSError as error:
        raise Refused(
            f"PostgreSQL must run as user id {account.uid}, since Shoal is root; that user cannot reach "
            f"{installation.postgres}, and no copy can be made in {CACHE}: {error.strerror}"
        ) from error
    if not await _runs(copy, account):
        raise Refused(f"PostgreSQL must run as user id {account.uid}, which cannot run {copy.postgres}")
    return copy


async def _runs(installation: Installation, account: Account) -> bool:
    """Tested by running it: modes, access lists and mount options all matter."""
    try:
        asked = await spawn(
            installation.postgres, "--version", account=account, at_our_end=signal.SIGKILL, output=DEVNULL
        )
    except PermissionError:
        return False
    return await asked.wait() == 0


def _copy(installation: Installation) -> Installation:
    """Copy the required files, all or nothing; an existing copy of the same files is used."""
    stat = installation.postgres.stat()
    identity = f"{installation.postgres} {stat.st_size} {stat.st_mtime_ns}"
    name = f"postgresql-{installation.version}-{hashlib.sha256(identity.encode()).hexdigest()[:12]}"
    target = CACHE / name
    if not target.exists():
        CACHE.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=CACHE) as temporary:
            unfinished = Path(temporary) / name
            for part in installation.copied:
                shutil.copytree(installation.base / part, unfinished / part)
            _open_to_all(unfinished)
            try:
                unfinished.rename(target)
            except OSError:
                if not target.exists():  # else another Shoal process was faster
                    raise
    return replace(installation, bin=target / installation.bin.relative_to(installation.base), base=target)


def _open_to_all(folder: Path) -> None:
    """Let all users read and run our copy, whatever umask the original was installed with."""
    for _, _, files, here in os.fwalk(folder):
        os.fchmod(here, 0o755)
        for name in files:
            runs = os.stat(name, dir_fd=here).st_mode & 0o100
            os.chmod(name, 0o755 if runs else 0o644, dir_fd=here)
