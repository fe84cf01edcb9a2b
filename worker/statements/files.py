"""Which local files a statement may access if the database is a library in the task's own process.

SQLite and DuckDB read and write any file that their process can, by ATTACH, COPY, `read_text('...')` and extensions. So
unless the worker's setting `local_files` says otherwise, they may access only the data source's own file and the task's
folder.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from worker.tasks.plugin import TaskContext

_IN_MEMORY = ("", ":memory:")
_FORBIDDEN_PRAGMAS = frozenset({"temp_store_directory", "data_store_directory"})


@dataclass(frozen=True)
class Files:
    """The files in the folder that `make_folder` returns, besides the database's own; None means all."""

    make_folder: Callable[[], Path] | None

    @property
    def are_anywhere(self) -> bool:
        return self.make_folder is None

    def authorize(
        self, action: int, first: str | None, _second: str | None, _database: str | None, _trigger: str | None
    ) -> int:
        """SQLite's authorizer, called before it prepares a statement (`sqlite3.Connection.set_authorizer`)."""
        if action == sqlite3.SQLITE_ATTACH and not self._may_attach(first):
            return sqlite3.SQLITE_DENY
        if action == sqlite3.SQLITE_PRAGMA and first in _FORBIDDEN_PRAGMAS:
            return sqlite3.SQLITE_DENY
        return sqlite3.SQLITE_OK

    def _may_attach(self, name: str | None) -> bool:
        """Whether a file may be attached. `name` is None where it is not a literal: it could become anything. `file:`
        is a URI with options."""
        if name in _IN_MEMORY:
            return True
        if name is None or name.startswith("file:") or self.make_folder is None:
            return False
        folder = self.make_folder().resolve()
        return (folder / name).resolve().is_relative_to(folder)


ANYWHERE = Files(None)


def files_of(context: TaskContext) -> Files:
    return ANYWHERE if context.local_files else Files(context.make_folder)
