"""The files of `sql/`: the whole schema, and the upgrades from older ones, which `schema.py` runs."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.resources import files
from importlib.resources.abc import Traversable

FIRST_VERSION = 1
_MAY_RUN = "-- old nodes: may run"
_MUST_STOP = "-- old nodes: must stop"
_SCRIPT_NAME = re.compile(r"(\d{4})_([a-z0-9_]+)\.sql")


@dataclass(frozen=True)
class Script:
    """An SQL file, and the version of the schema after it has run."""

    version: int
    name: str
    content: str

    @property
    def old_nodes_may_run(self) -> bool:
        """Whether nodes of the previous schema may run during and after the script. False unless the script says so."""
        return self.content.partition("\n")[0].strip() == _MAY_RUN

    @property
    def states_its_way(self) -> bool:
        """Whether its first line states this, either way."""
        return self.content.partition("\n")[0].strip() in (_MAY_RUN, _MUST_STOP)

    @cached_property
    def checksum(self) -> str:
        """A checksum that shows whether the file is the same as when it ran."""
        return hashlib.sha256(self.content.encode()).hexdigest()


@dataclass(frozen=True)
class Scripts:
    """All scripts of this program: the whole schema, and the upgrades from older ones, in order."""

    schema: Script
    upgrades: Sequence[Script]

    @property
    def version(self) -> int:
        return self.schema.version

    def after(self, version: int) -> Script | None:
        return next((script for script in self.upgrades if script.version == version + 1), None)


def read_scripts(folder: Traversable | None = None) -> Scripts:
    """The scripts in `folder`, by default those that were installed with this program.

    Raises:
        ValueError: an upgrade has a wrong name or number; an error in the build of this program.
    """
    return _own_scripts() if folder is None else _scripts_in(folder)


@cache
def _own_scripts() -> Scripts:
    return _scripts_in(files("sql"))


def _scripts_in(folder: Traversable) -> Scripts:
    upgrades = []
    if (folder / "upgrades").is_dir():
        found = [each for each in (folder / "upgrades").iterdir() if each.name.endswith(".sql")]
        for expected, file in enumerate(sorted(found, key=lambda each: each.name), start=FIRST_VERSION + 1):
            named = _SCRIPT_NAME.fullmatch(file.name)
            if named is None or int(named[1]) != expected:
                raise ValueError(f"sql/upgrades/{file.name} must be named {expected:04}_what_it_does.sql")
            upgrades.append(Script(expected, named[2], file.read_text("utf-8")))
    content = (folder / "schema.sql").read_text("utf-8")
    return Scripts(Script(FIRST_VERSION + len(upgrades), "schema", content), tuple(upgrades))
