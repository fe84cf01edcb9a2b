"""`shoal alert`: runs one sender; its verbs list alerts, and set who gets which, where and when."""

from __future__ import annotations

import os
from typing import ClassVar

import typer

from alert import server
from metrics.health import Health
from node.address import host_name
from service.secrets import key_settings
from shoal import process, secrecy
from shoal.cli.invocation import Invocation
from shoal.cli.on_demand import GroupOnDemand
from shoal.cli.serving import LEAVE_S_MAX, serve
from shoal.cli.verbs import default_verb
from shoal.config import logging, metrics


class _OfAlerts(GroupOnDemand):
    """The verbs beside the process, which has nothing of what they need."""

    modules: ClassVar = {
        "list": "alerts",
        "show": "alerts",
        "retry": "alerts",
        "channel": "alert_channels",
        "group": "alert_groups",
        "rule": "alert_rules",
        "silence": "alert_silences",
    }


def add_to(app: typer.Typer) -> None:
    """Add the group `alert`, which runs a sender when it is given no verb."""
    group = typer.Typer(cls=_OfAlerts, help="Run one sender of alerts; see alerts, and set who gets which.")
    default_verb(group, "shoal alert", process=True)(alert)
    app.add_typer(group, name="alert")


async def alert(call: Invocation) -> None:
    """Run one sender of alerts; its verbs list alerts, and set who gets which, where and when.

    Any number of senders may run. SIGTERM lets one end what it sends, a second one ends it at once.
    """
    secrecy.hide()
    settings = call.settings_with({})
    secrecy.clear_all()
    logging.configure_role_logging(settings)
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
    within_s = settings.alert.timeout.total_seconds() + LEAVE_S_MAX
    running = process.until_stopped(role.run, within_s, health)
    with metrics.serving_metrics(settings, "alert", own_name, health):
        await serve(running)
