"""Our modules run when a verb first uses them.

A module with verbs imports everything that its verbs ask. Help needs none of it, one verb of a group only a part, and
an API client neither SQLAlchemy nor psycopg, which take half of the time of a list. So here `from service.cluster
import clock` only finds the module, and `clock.read_clock` runs it. Importing a name from a module runs it at once,
which is right for small ones, such as `service.words`.

For verbs only: threads of a master or an API would meet modules that another thread has begun to run.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import LazyLoader
from types import ModuleType

_OURS = "alert api dao importers logstore master metrics model node registry service shoal worker"
_LATE = tuple(f"{folder}." for folder in _OURS.split())


class _LateModules(MetaPathFinder):
    def __init__(self) -> None:
        self.found: list[str] = []

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if not fullname.startswith(_LATE):
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        is_package = spec is not None and spec.submodule_search_locations is not None
        if spec is None or spec.loader is None or is_package:
            return None  # a package has no code, and is asked for its path at once
        spec.loader = LazyLoader(spec.loader)
        self.found.append(fullname)
        return spec


_finder = _LateModules()


@contextmanager
def imported_late() -> Iterator[None]:
    """Defer our modules to their first use within this block, until `end` is called."""
    sys.meta_path.insert(0, _finder)
    try:
        yield
    finally:
        end()


def end() -> None:
    """Run modules at their import from now on, except those deferred before."""
    if _finder in sys.meta_path:
        sys.meta_path.remove(_finder)


def run(*modules: ModuleType) -> None:
    """Stop deferring, and run these modules with their imports."""
    end()
    for each in modules:
        vars(each)


def run_all() -> None:
    """Stop deferring, and run all deferred modules."""
    run(*(sys.modules[name] for name in _finder.found if name in sys.modules))
