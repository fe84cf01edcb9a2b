"""`shoal alert`: runs one sender; its verbs list alerts, and set who gets which, where and when."""

from __future__ import annotations

import os

import typer

from alert import server
from metrics.health import Health
from node.address import host_name
from service.secrets import key_settings
from shoal.cli import serving
from shoal.cli.invocation import Invocation
from shoal.cli.verbs import default_verb


def add_to(app: typer.Typer) -> None:
    """Add the group `alert`, which runs a sender when it is given no verb."""
    default_verb(
        app,
        "shoal alert",
        process=True,
        beside={
            "list": "alerts",
            "show": "alerts",
            "retry": "alerts",
            "channel": "alert_channels",
            "group": "alert_groups",
            "rule": "alert_rules",
            "silence": "alert_silences",
        },
    )(alert)


async def alert(call: Invocation) -> None:
    """Run one sender of alerts; its verbs list alerts, and set who gets which, where and when.

    Any number of senders may run. SIGTERM lets one end what it sends, a second one ends it at once.
    """
    settings = serving.begin(call, {})
    health = Health()
    own_name = settings.name or f"{host_name()}:{os.getpid()}"
    role = server.AlertServer(
        settings.database(),
        key_settings.open_vault(settings.secrets),
        settings.alert,
        own_name,
        connect_timeout_s=settings.connect_timeout_s,
        health=health,
    )
    await serving.run(settings, "alert", own_name, health, role.run, settings.alert.timeout.total_seconds())
