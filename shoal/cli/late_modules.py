"""Modules of ours that run when a verb first takes something from them.

A module with verbs imports at its top all that they ask. Its help needs nothing of that, one verb of a group only a
part of it, and what asks an API neither SQLAlchemy nor psycopg: they are half of the time of a list. So here
`from service.cluster import clock` only finds the module, and `clock.read_clock` runs it. A name that is imported from
a module runs it at once, which is right for small ones, such as `service.words`.

For verbs alone: the threads of a master or an API would meet modules that another thread has begun to run.
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
    """Within it our modules run at their first use, until somebody calls `end`."""
    sys.meta_path.insert(0, _finder)
    try:
        yield
    finally:
        end()


def end() -> None:
    """From now on a module runs when it is imported, unless that was done before."""
    if _finder in sys.meta_path:
        sys.meta_path.remove(_finder)


def run(*modules: ModuleType) -> None:
    """End it, and run these modules, with all that they import."""
    end()
    for each in modules:
        vars(each)


def run_all() -> None:
    """End it, and run all modules that wait for their first use."""
    run(*(sys.modules[name] for name in _finder.found if name in sys.modules))
