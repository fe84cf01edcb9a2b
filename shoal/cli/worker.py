"""`shoal worker`: runs one; its verbs list all, let one rest, and spread streams."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from metrics.health import Health
from node.address import host_name
from service.secrets import key_settings
from shoal.cli import serving
from shoal.cli.invocation import Invocation
from shoal.cli.verbs import default_verb
from worker import server


def add_to(app: typer.Typer) -> None:
    """Add the group `worker`, which runs one when it is given no verb."""
    default_verb(
        app,
        "shoal worker",
        "shoal worker --group gpu --group default --capacity 4",
        "shoal worker --name w2",
        process=True,
        beside={
            "list": "node_lists",
            "drain": "draining",
            "undrain": "draining",
            "rebalance": "streams",
        },
        add="add_to_workers",
    )(worker)


async def worker(
    call: Invocation,
    name: Annotated[
        str | None, typer.Option(help="Its name; else made from the host's name and an id in its folder.")
    ] = None,
    group: Annotated[list[str] | None, typer.Option(help="A worker group that it serves; may be repeated.")] = None,
    capacity: Annotated[int | None, typer.Option(help="Tasks that it runs at once.")] = None,
    folder: Annotated[Path | None, typer.Option(help="Where its logs and work folders are.")] = None,
) -> None:
    """Run one worker; its verbs list all workers, let one rest, and spread streams.

    SIGTERM lets the tasks of a worker end first, for a while; a second one ends it at once.
    """
    own = {"groups": tuple(group) if group else None, "capacity": capacity, "folder": folder}
    settings = serving.begin(call, {"name": name, "worker": own})
    health = Health()
    role = server.Worker(
        settings.joining(),
        settings.worker_settings(),
        key_settings.open_vault(settings.secrets),
        traced=settings.tracing.endpoint is not None,
        log_store=settings.log_store,
        health=health,
    )
    own_name = settings.name or host_name()
    await serving.run(settings, "worker", own_name, health, role.run, settings.worker.drain.total_seconds())
