"""The verbs of the command line, each loaded when it is called: `shoal runs` imports only the module that has `runs`.

Importing all of them and building their options takes longer than most verbs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any, ClassVar, cast

import typer
from typer.core import TyperGroup
from typer.main import get_group

GROUPS = {
    "Processes": {
        "up": "up",
        "demo": "demo",
        "standalone": "up",
        "master": "master",
        "worker": "worker",
        "api": "api",
        "alert": "alert",
    },
    "Runs": {
        "run": "run",
        "runs": "runs",
        "show": "show",
        "log": "log",
        "why": "why",
        "tasks": "tasks",
        "events": "events",
        "errors": "error_commands",
        "pause": "halting",
        "stop": "halting",
        "resume": "halting",
        "rerun": "rerun",
        "mark": "rerun",
        "backfill": "backfill",
        "bulk": "bulk",
        "approval": "approvals",
        "stream": "streams",
    },
    "Workflows and schedules": {
        "workflow": "workflows",
        "schedule": "schedules",
        "project": "projects",
        "file": "files",
        "import": "imports",
    },
    "Cluster": {
        "top": "top",
        "queue": "queue",
        "duties": "duties",
        "doctor": "doctor",
    },
    "Pools, data sources, environments and secrets": {
        "pool": "pools",
        "datasource": "data_sources",
        "environment": "environments",
        "secret": "secrets",
    },
    "Access": {
        "login": "login",
        "logout": "login",
        "user": "users",
        "token": "tokens",
        "member": "members",
        "audit": "audit",
    },
    "Setup": {
        "db": "database",
        "config": "config",
        "metrics": "metrics",
    },
}
"""Each verb and group of verbs, as the help shows them -> the module that adds it."""
MODULES = {name: module for group in GROUPS.values() for name, module in group.items()}

_SHOWN_UNDER = {name: shown for shown, group in GROUPS.items() for name in group}


class VerbsOnDemand(Mapping[str, Any]):
    """The commands by name; the first use of one loads all of its module.

    Args:
        modules: each name -> the module that adds it.
        add: the function of the module that does.
    """

    def __init__(self, modules: Mapping[str, str], add: str) -> None:
        self._modules = modules
        self._add = add
        self._loaded: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._loaded:
            app = typer.Typer()
            module = import_module(f"{__package__}.{self._modules[name]}")
            getattr(module, self._add)(app)
            self._loaded |= get_group(app).commands
        return self._loaded[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._modules)

    def __len__(self) -> int:
        return len(self._modules)


class GroupOnDemand(TyperGroup):
    """A group whose verbs are loaded when they are called; see `VerbsOnDemand`."""

    modules: ClassVar[Mapping[str, str]]
    add: ClassVar[str] = "add_to"

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        self.commands = cast(dict[str, Any], VerbsOnDemand(self.modules, self.add))  # Typer gives it none


class Verbs(GroupOnDemand):
    """The command `shoal` itself."""

    modules = MODULES

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """A verb, with the part of the help that it stands in."""
        found: Any = super().get_command(ctx, cmd_name)
        if found is not None:
            found.rich_help_panel = _SHOWN_UNDER[cmd_name]
        return found
