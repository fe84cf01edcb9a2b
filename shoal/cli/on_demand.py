"""The verbs of the command line, each loaded when it is called: `shoal runs` imports only the module that has `runs`.

Importing all of them and building their options takes longer than most verbs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any, cast

import typer
from typer.core import TyperGroup
from typer.main import get_group

MODULES = {
    "up": "roles",
    "standalone": "roles",
    "demo": "roles",
    "master": "roles",
    "worker": "roles",
    "api": "roles",
    "alert": "roles",
    "run": "workflows",
    "runs": "runs",
    "show": "runs",
    "log": "runs",
    "pause": "halting",
    "stop": "halting",
    "resume": "halting",
    "restart": "streams",
    "rebalance": "streams",
    "tasks": "runs",
    "bulk": "bulk",
    "rerun": "rerun",
    "mark": "rerun",
    "backfill": "backfill",
    "why": "why",
    "schedules": "schedules",
    "next": "next_fires",
    "queue": "queue",
    "slots": "cluster",
    "workers": "cluster",
    "duties": "duties",
    "pools": "pools",
    "alerts": "alert_history",
    "channels": "channels",
    "alertgroups": "alert_groups",
    "alertrules": "alert_rules",
    "silences": "silences",
    "top": "top",
    "datasources": "data_sources",
    "environments": "environments",
    "audit": "audit",
    "login": "login",
    "logout": "login",
    "doctor": "doctor",
    "workflow": "workflows",
    "schedule": "schedules",
    "events": "events",
    "errors": "errors",
    "project": "projects",
    "datasource": "data_sources",
    "environment": "environments",
    "pool": "pools",
    "channel": "channels",
    "alertgroup": "alert_groups",
    "alertrule": "alert_rules",
    "silence": "silences",
    "secrets": "secrets",
    "user": "users",
    "token": "tokens",
    "member": "members",
    "db": "database",
    "config": "config",
    "metrics": "metrics",
}
"""Each verb and group of verbs, in the order of the help -> the module that adds it."""


class VerbsOnDemand(Mapping[str, Any]):
    """The commands by name; the first use of one loads all of its module."""

    def __init__(self) -> None:
        self._loaded: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._loaded:
            app = typer.Typer()
            import_module(f"{__package__}.{MODULES[name]}").add_to(app)
            self._loaded |= get_group(app).commands
        return self._loaded[name]

    def __iter__(self) -> Iterator[str]:
        return iter(MODULES)

    def __len__(self) -> int:
        return len(MODULES)


class Verbs(TyperGroup):
    """The command `shoal` itself."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        self.commands = cast(dict[str, Any], VerbsOnDemand())  # Typer gives it none
