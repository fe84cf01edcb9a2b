"""`shoal worker`: runs one; its verbs list all, let one rest, and spread streams."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, ClassVar

import typer

from metrics.health import Health
from node.address import host_name
from service.secrets import key_settings
from shoal import process, secrecy
from shoal.cli.invocation import Invocation
from shoal.cli.on_demand import GroupOnDemand
from shoal.cli.serving import LEAVE_S_MAX, serve
from shoal.cli.verbs import default_verb
from shoal.config import logging, metrics
from worker import server


class _OfWorkers(GroupOnDemand):
    """The verbs beside the process, which has nothing of what they need."""

    modules: ClassVar = {
        "list": "node_lists",
        "drain": "draining",
        "undrain": "draining",
        "rebalance": "streams",
    }
    add = "add_to_workers"


def add_to(app: typer.Typer) -> None:
    """Add the group `worker`, which runs one when it is given no verb."""
    group = typer.Typer(cls=_OfWorkers, help="Run one worker, list all, or drain one.")
    default_verb(
        group,
        "shoal worker",
        "shoal worker --group gpu --group default --capacity 4",
        "shoal worker --name w2",
        process=True,
    )(worker)
    app.add_typer(group, name="worker")


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
    secrecy.hide()
    own = {"groups": tuple(group) if group else None, "capacity": capacity, "folder": folder}
    settings = call.settings_with({"name": name, "worker": own})
    secrecy.clear_all()
    logging.configure_role_logging(settings)
    health = Health()
    role = server.Worker(
        settings.joining(),
        settings.worker_settings(),
        key_settings.open_vault(settings.secrets),
        traced=settings.tracing.endpoint is not None,
        log_store=settings.log_store,
        health=health,
    )
    within_s = settings.worker.drain.total_seconds() + LEAVE_S_MAX
    running = process.until_stopped(role.run, within_s, health)
    with metrics.serving_metrics(settings, "worker", settings.name or host_name(), health):
        await serve(running)
