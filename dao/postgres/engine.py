"""SQLAlchemy's engine for asyncio, without its ORM; everybody takes `AsyncConnection` from here.

The package `sqlalchemy.ext.asyncio` imports the whole ORM for its sessions, which Shoal does not use: that is 60 ms of
a verb of the command line. So the code of the package runs only when somebody, such as a plug-in, asks it for more than
the module with the engine.
"""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.util import find_spec, module_from_spec
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine

__all__ = ["AsyncConnection", "AsyncEngine", "create_async_engine"]

_PACKAGE = "sqlalchemy.ext.asyncio"


def _loaded_on_demand(name: str) -> ModuleType:
    """The package of this name; its code runs when something is taken from it that is no module of it."""
    if name in sys.modules:
        return sys.modules[name]
    spec = find_spec(name)
    assert spec is not None
    assert spec.loader is not None
    execute = spec.loader.exec_module
    package = module_from_spec(spec)

    def load(wanted: str) -> Any:
        if find_spec(f"{name}.{wanted}") is not None:
            return import_module(f"{name}.{wanted}")
        del package.__dict__["__getattr__"]
        execute(package)
        return getattr(package, wanted)

    package.__dict__["__getattr__"] = load
    sys.modules[name] = package
    parent, _, last = name.rpartition(".")
    setattr(sys.modules[parent], last, package)
    return package


if not TYPE_CHECKING:
    _loaded_on_demand(_PACKAGE)
    _engine = import_module(f"{_PACKAGE}.engine")
    AsyncConnection = _engine.AsyncConnection
    AsyncEngine = _engine.AsyncEngine
    create_async_engine = _engine.create_async_engine
