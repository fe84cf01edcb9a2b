"""Creation of the data folder: by initdb, with one database, one role, and one way to connect.

It is created under a temporary name and renamed when it is complete and on disk, so a crash leaves all of it or
nothing. Only this step uses initdb's superuser: the role and the database are created in single-user mode, without a
server, and afterwards `pg_hba.conf` admits only the role `shoal`, to its own database, by password, through the socket.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from shoal.embedded import account
from shoal.embedded.binaries import Installation, major_of
from shoal.embedded.copies import runnable_by
from shoal.embedded.place import Place
from shoal.embedded.program import opened, path_of, run

ROLE = "shoal"
DATABASE = "shoal"
HBA = f"local {DATABASE} {ROLE} scram-sha-256\n"
BUILTIN_LOCALE_SINCE = 17


def major_in(data: Path) -> int | None:
    """The major version that wrote the data folder, None if there is none.

    Raises:
        Refused: its version file is invalid.
    """
    version = data / "PG_VERSION"
    return major_of(version.read_text()) if data.exists() else None


async def create(place: Place, installation: Installation) -> None:
    """Create `place.data`, the database and its owner, with a new password. About 0.7 s.

    Raises:
        Refused: no user can run the programs.
        Unavailable: one of them failed, with the end of its output.
    """
    initdb_account = account.of_initdb()
    _empty(place.unfinished, initdb_account)
    password = place.new_password()
    installation = await runnable_by(initdb_account, installation)
    with opened(place.unfinished) as data:
        where = path_of(data)
        # --no-sync, fsync=off: everything is synced once, at the end
        choices = ["--no-sync", *_choices(installation)]
        await run(installation.initdb, "-D", where, *choices, kept=[data], account=initdb_account)
        alone = ["--single", "-D", where, "-j", "-c", "fsync=off", "-c", "exit_on_error=on", "postgres"]
        statements = _statements(password)
        await run(installation.postgres, *alone, kept=[data], account=initdb_account, given=statements)
        _allow_only_the_role(data)
        account.give_to(place.unfinished, account.of_server())
        await run(installation.initdb, "-D", where, "--sync-only", kept=[data], account=account.of_server())
    place.unfinished.rename(place.data)
    with opened(place.folder) as folder:
        os.fsync(folder)


def _empty(folder: Path, owner: account.Account | None) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(mode=0o700)
    account.give_to(folder, owner)


def _choices(installation: Installation) -> list[str]:
    """The choices that initdb makes permanently: text is UTF-8 in code point order, the same on every machine."""
    choices = ["--username=superuser", "--auth=reject", "--encoding=UTF8", "--locale=C", "--no-instructions"]
    if installation.major >= BUILTIN_LOCALE_SINCE:  # the same order, and upper() handles more than A to Z
        choices += ["--locale-provider=builtin", "--builtin-locale=C.UTF-8"]
    return choices


def _statements(password: str) -> str:
    """SQL for single-user mode with -j, where `;` and an empty line end a statement."""
    assert "'" not in password, "it is made of letters, digits, - and _"
    return (
        f"CREATE ROLE {ROLE} LOGIN PASSWORD '{password}';\n\n"  # may end its own sessions, as every role may
        f"CREATE DATABASE {DATABASE} OWNER {ROLE};\n\n"
    )


def _allow_only_the_role(data: int) -> None:
    """Write pg_hba.conf again, following no link: we may be root, and the folder is another account's."""
    os.unlink("pg_hba.conf", dir_fd=data)
    descriptor = os.open("pg_hba.conf", os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600, dir_fd=data)
    with os.fdopen(descriptor, "w") as file:
        file.write(HBA)
