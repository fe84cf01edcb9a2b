"""`shoal why`: explains why something does not move."""

from __future__ import annotations

from typing import Annotated

import typer

from shoal.cli.invocation import Invocation
from shoal.cli.values import AnyProject
from shoal.cli.verbs import verb


def add_to(app: typer.Typer) -> None:
    """Add the verb."""
    verb(app, "shoal why @last", "shoal why 1042/load", "shoal why command 4711")(why)


async def why(
    call: Invocation,
    what: Annotated[
        list[str], typer.Argument(metavar="RUN | RUN/TASK | command ID", help="A run, a task of it, or a command.")
    ],
    project: AnyProject = None,
) -> None:
    """Explain in one sentence why something does not move, and what to do about it."""
    from service.explain.why import explain
    from service.words import plain
    from shoal.cli import output

    async with call.checked_database() as database:
        found = await explain(database, call.settings, what, project)
    if call.as_json:
        output.print_json({"why": found.sentence, "do": found.do})
        return
    output.say(plain(found.sentence))
    output.say(f"→ {plain(found.do)}")
