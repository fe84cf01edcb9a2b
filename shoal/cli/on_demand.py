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
        "pause": "halting",
        "stop": "halting",
        "resume": "halting",
        "rerun": "rerun",
        "backfill": "backfill",
        "task": "tasks",
    },
    "Workflows and what they use": {
        "workflow": "workflows",
        "schedule": "schedules",
        "project": "projects",
        "pool": "pools",
        "datasource": "data_sources",
        "environment": "environments",
    },
    "Cluster": {
        "top": "top",
        "queue": "queue",
        "doctor": "doctor",
        "db": "database",
        "config": "config",
    },
    "Access": {
        "login": "login",
        "user": "users",
    },
}
"""Verb or group, in the sections of the help -> the module that adds it."""
MODULES = {name: module for group in GROUPS.values() for name, module in group.items()}

_SHOWN_UNDER = {name: shown for shown, group in GROUPS.items() for name in group}


class VerbsOnDemand(Mapping[str, Any]):
    """The commands by name; the first use of one loads its module.

    Args:
        modules: name -> the module that adds it.
        add: the function of that module that does it.
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


def group_of(modules: Mapping[str, str], add: str) -> type[GroupOnDemand]:
    """The class of a group with these verbs; see `VerbsOnDemand`."""
    return type("GroupOfModules", (GroupOnDemand,), {"modules": modules, "add": add})


class Verbs(GroupOnDemand):
    """The command `shoal` itself."""

    modules = MODULES

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """A verb, with its section of the help."""
        found: Any = super().get_command(ctx, cmd_name)
        if found is not None:
            found.rich_help_panel = _SHOWN_UNDER[cmd_name]
        return found

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The verb, and the remaining arguments; an unknown verb may be below a group."""
        if self.get_command(ctx, args[0]) is None and (below := [f"'{path}'" for path in _paths(self, args[0])]):
            ctx.fail(f"No such command '{args[0]}'. Did you mean {', '.join(below)}?")
        return super().resolve_command(ctx, args)


def _paths(group: TyperGroup, name: str) -> Iterator[str]:
    """The words that lead to each command of this name in a group."""
    for word, command in group.commands.items():
        if word == name:
            yield word
        elif isinstance(command, TyperGroup):
            yield from (f"{word} {path}" for path in _paths(command, name))
