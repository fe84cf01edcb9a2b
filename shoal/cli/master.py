"""`shoal master`: runs one; its verbs list all with their slots and duties, and let one rest."""

from __future__ import annotations

from typing import Annotated

import typer

from master import server
from master.tracing import otlp
from metrics.health import Health
from node.address import host_name
from shoal import process
from shoal.cli import serving
from shoal.cli.invocation import Invocation
from shoal.cli.verbs import default_verb
from shoal.version import shoal_version

FLUSH_S_MAX = 1.0
"""How long a master that has left waits for the receiver of its spans."""


def add_to(app: typer.Typer) -> None:
    """Add the group `master`, which runs one when it is given no verb."""
    default_verb(
        app,
        "shoal master",
        "shoal master --name m1",
        process=True,
        beside={
            "list": "node_lists",
            "drain": "draining",
            "undrain": "draining",
            "duties": "duties",
        },
        add="add_to_masters",
    )(master)


async def master(
    call: Invocation,
    name: Annotated[str | None, typer.Option(help="Its name; else made from the host's name and its port.")] = None,
    host: Annotated[str | None, typer.Option(help="The address that is shown to others.")] = None,
    port: Annotated[int | None, typer.Option(help="Its port, unique on its machine; 0 = any free one.")] = None,
) -> None:
    """Run one master; its verbs list all masters with their slots and duties, and let one rest.

    SIGTERM stops a master gracefully, a second one at once.
    """
    settings = serving.begin(call, {"name": name, "host": host, "port": port}, has_keys=False)
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
        await serving.run(settings, "master", own_name, health, role.run, settings.master.drain.total_seconds())
        if spans is not None:
            spans.flush(FLUSH_S_MAX)
