"""`shoal show`: shows one run."""

from __future__ import annotations

from typing import Annotated

import typer

from service.cluster import clock
from service.runs import requests, showing
from shoal.cli import output, run_page
from shoal.cli.invocation import Invocation
from shoal.cli.values import AnyProject, RunName
from shoal.cli.verbs import verb


def add_to(app: typer.Typer) -> None:
    """Add the verb."""
    verb(app, "shoal show @last", "shoal show hello", "shoal show 1042")(show)


async def show(
    call: Invocation,
    run: RunName,
    project: AnyProject = None,
    everything: Annotated[bool, typer.Option("--all", help="Also show attempts that no longer count.")] = False,
) -> None:
    """Show one run: its tasks, every attempt, and the tree of what waits for what."""
    async with call.client() as client:
        now = (await client.ask(clock.read_clock)).now
        found = await client.ask(showing.find_run, requests.RunReference.read(name=run, project=project))
        page = await client.ask(showing.get_run, found.id)
    if call.as_json:
        output.print_json(output.answer_fields(page))
        return
    run_page.print_run(page, now, utc=call.utc, everything=everything)
