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

GROUPS = {
    "Processes": {
        "up": "roles",
        "demo": "roles",
        "standalone": "roles",
        "master": "roles",
        "worker": "roles",
        "api": "roles",
        "alert": "roles",
    },
    "Runs": {
        "run": "workflows",
        "runs": "runs",
        "show": "runs",
        "log": "runs",
        "why": "why",
        "tasks": "runs",
        "events": "events",
        "errors": "errors",
        "pause": "halting",
        "stop": "halting",
        "resume": "halting",
        "rerun": "rerun",
        "mark": "rerun",
        "backfill": "backfill",
        "bulk": "bulk",
        "restart": "streams",
        "rebalance": "streams",
    },
    "Workflows and schedules": {
        "workflow": "workflows",
        "schedule": "schedules",
        "schedules": "schedules",
        "next": "next_fires",
        "project": "projects",
    },
    "Cluster": {
        "top": "top",
        "queue": "queue",
        "slots": "cluster",
        "workers": "cluster",
        "duties": "duties",
        "doctor": "doctor",
    },
    "Alerts": {
        "alerts": "alert_history",
        "channel": "channels",
        "channels": "channels",
        "alertgroup": "alert_groups",
        "alertgroups": "alert_groups",
        "alertrule": "alert_rules",
        "alertrules": "alert_rules",
        "silence": "silences",
        "silences": "silences",
    },
    "Pools, data sources and environments": {
        "pool": "pools",
        "pools": "pools",
        "datasource": "data_sources",
        "datasources": "data_sources",
        "environment": "environments",
        "environments": "environments",
        "secrets": "secrets",
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
    """The commands by name; the first use of one loads all of its module."""

    def __init__(self) -> None:
        self._loaded: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._loaded:
            app = typer.Typer()
            import_module(f"{__package__}.{MODULES[name]}").add_to(app)
            self._loaded |= get_group(app).commands
            for each in self._loaded.keys() & MODULES.keys():
                self._loaded[each].rich_help_panel = _SHOWN_UNDER[each]
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
