"""`shoal demo`: a cluster in a temporary folder, one of whose masters is killed."""

from __future__ import annotations

from typing import Annotated

import typer

from shoal import secrecy
from shoal.cli import exit_codes, output
from shoal.cli.invocation import Invocation
from shoal.cli.verbs import verb
from shoal.config import logging
from shoal.local import demo as local_demo
from shoal.local import demo_view


def add_to(app: typer.Typer) -> None:
    verb(app, "shoal demo", process=True)(demo)


async def demo(
    call: Invocation,
    commands: Annotated[int, typer.Option(min=10, max=100_000, help="How many workflows to start.")] = 300,
    seconds: Annotated[float, typer.Option(min=5, max=600, help="Over how many seconds they are inserted.")] = 20,
) -> None:
    """Three masters and two workers in a temporary folder; one master is killed half way. Nothing is lost."""
    secrecy.hide()
    logging.configure_logging("quiet")
    view = demo_view.make_view(silent=call.as_json)
    try:
        summary = await local_demo.Demo(commands, seconds, view).run()
    finally:
        view.close()
    if call.as_json:
        output.print_json(summary.as_fields())
    else:
        typer.echo("\n" + "\n".join(summary.lines()))
    if not summary.passed:
        raise typer.Exit(exit_codes.FAILED)
