"""Modules of `dao/` that run only when a verb uses something of them.

A verb imports the operations that it asks, and these import the modules with their statements. Through an API no
statement is sent; then neither those modules nor SQLAlchemy and psycopg are needed, half of the time of a list. On the
database it is only some of them. For verbs alone: a node imports everything at its start, since its threads would meet
modules that another thread has begun to run.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import LazyLoader
from types import ModuleType

_LATE = "dao."


class _LateModules(MetaPathFinder):
    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if not fullname.startswith(_LATE):
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        is_package = spec is not None and spec.submodule_search_locations is not None
        if spec is None or spec.loader is None or is_package:
            return None  # a package has no statements, and is asked for its path at once
        spec.loader = LazyLoader(spec.loader)
        return spec


def import_late() -> None:
    """From now on modules of `dao/` run at their first use."""
    if not any(isinstance(each, _LateModules) for each in sys.meta_path):
        sys.meta_path.insert(0, _LateModules())
