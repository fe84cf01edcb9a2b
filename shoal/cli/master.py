"""`shoal master`: runs one; `list` shows all with their slots, `drain` and `undrain` let one rest."""

from __future__ import annotations

from typing import Annotated, ClassVar

import typer

from master import server
from master.tracing import otlp
from metrics.health import Health
from node.address import host_name
from shoal import process, secrecy
from shoal.cli.invocation import Invocation
from shoal.cli.on_demand import GroupOnDemand
from shoal.cli.serving import LEAVE_S_MAX, serve
from shoal.cli.verbs import default_verb
from shoal.config import logging, metrics
from shoal.version import shoal_version

FLUSH_S_MAX = 1.0
"""How long a master that has left waits for the receiver of its spans."""


class _OfMasters(GroupOnDemand):
    """The verbs beside the process, which has nothing of what they need."""

    modules: ClassVar = {"list": "node_lists", "drain": "draining", "undrain": "draining"}
    add = "add_to_masters"


def add_to(app: typer.Typer) -> None:
    """Add the group `master`, which runs one when it is given no verb."""
    group = typer.Typer(cls=_OfMasters, help="Run one master, list all with their slots, or drain one.")
    default_verb(group, "shoal master", "shoal master --name m1", process=True)(master)
    app.add_typer(group, name="master")


async def master(
    call: Invocation,
    name: Annotated[str | None, typer.Option(help="Its name; else made from the host's name and its port.")] = None,
    host: Annotated[str | None, typer.Option(help="The address that is shown to others.")] = None,
    port: Annotated[int | None, typer.Option(help="Its port, unique on its machine; 0 = any free one.")] = None,
) -> None:
    """Run one master; its verbs list all masters with their slots, and let one rest.

    SIGTERM stops a master gracefully, a second one at once.
    """
    secrecy.hide()
    secrecy.clear_keys()
    settings = call.settings_with({"name": name, "host": host, "port": port})
    secrecy.clear_all()
    logging.configure_role_logging(settings)
    address, holder = process.reserve_address(settings.host, settings.port)
    health = Health()
    with holder:
        spans = otlp.OtlpSender(settings.tracing, shoal_version()) if settings.tracing.endpoint else None
        own_name = settings.name or f"{host_name()}:{holder.getsockname()[1]}"
        role = server.Master(
            settings.joining(),
            own_name,
            address,
            settings.master,
            spans=spans,
            log_store=settings.log_store,
            health=health,
        )
        within_s = settings.master.drain.total_seconds() + LEAVE_S_MAX
        running = process.until_stopped(role.run, within_s, health)
        with metrics.serving_metrics(settings, "master", own_name, health):
            await serve(running)
        if spans is not None:
            spans.flush(FLUSH_S_MAX)
