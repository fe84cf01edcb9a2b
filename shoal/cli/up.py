"""`shoal up`: everything on this machine."""

from __future__ import annotations

import typer

from metrics.health import Health
from shoal import process, secrecy
from shoal.cli.invocation import Invocation
from shoal.cli.serving import LEAVE_S_MAX
from shoal.cli.verbs import verb
from shoal.config import logging
from shoal.local import up as local_up
from shoal.local.up_options import UpOptions


def add_to(app: typer.Typer) -> None:
    verb(app, "shoal up", "shoal up --masters 2 --workers 1", process=True)(up)


async def up(call: Invocation, options: UpOptions) -> None:
    """Run everything on this machine: PostgreSQL, masters, workers, an API, a sender. Ctrl-C stops all cleanly."""
    secrecy.hide()
    logging.configure_logging("quiet")
    standalone = local_up.Up(call.own_settings({"folder": options.folder}), options, typer.echo)
    health = Health(standalone.started)
    with health.judged_by(ready=[lambda: None if standalone.started.is_set() else "it starts"]):
        await process.until_stopped(standalone.serve, LEAVE_S_MAX + 60, health)
