"""`shoal up`: everything on this machine. `shoal standalone` is its second name."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from shoal import process, secrecy
from shoal.cli.invocation import Invocation
from shoal.cli.serving import LEAVE_S_MAX
from shoal.cli.verbs import verb
from shoal.config import logging
from shoal.local import up as local_up


def add_to(app: typer.Typer) -> None:
    """Add the verb, under both names."""
    for name in ("up", "standalone"):
        example = f"shoal {name} --masters 2 --workers 1"
        verb(app, f"shoal {name}", example, name=name, hidden=name != "up", process=True)(up)


async def up(
    call: Invocation,
    masters: Annotated[int, typer.Option(min=1, max=64, help="How many masters.")] = 2,
    workers: Annotated[int, typer.Option(min=0, max=64, help="How many workers.")] = 1,
    folder: Annotated[Path | None, typer.Option(help="Where the data is kept between runs.")] = None,
    port: Annotated[
        int | None, typer.Option(min=0, max=65535, help="The API's port; else 7465, or a free one if that is taken.")
    ] = None,
    sample: Annotated[bool, typer.Option(help="Save the sample workflow in a new database, and run it once.")] = True,
    examples: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Save the workflow files in it, and run each new one once.")
    ] = None,
    opened: Annotated[bool, typer.Option("--open", help="Open the web page in a browser.")] = False,
) -> None:
    """Run everything on this machine: PostgreSQL, masters, workers, an API, a sender. Ctrl-C stops all cleanly."""
    secrecy.hide()
    logging.configure_logging("quiet")
    settings = call.own_settings({"folder": folder})
    standalone = local_up.Up(
        settings, masters, workers, typer.echo, port, has_sample=sample, examples=examples, is_opened=opened
    )
    await process.until_stopped(standalone.serve, standalone.started, LEAVE_S_MAX + 60)
