"""`shoal why`: explains why something does not move."""

from __future__ import annotations

from typing import Annotated

import typer

from model.definitions.names import as_id
from model.errors import NotFound, Refused
from service.explain import why as explanations
from service.runs import requests
from service.words import plain
from shoal.cli import output
from shoal.cli.completion import complete_run
from shoal.cli.invocation import Invocation
from shoal.cli.named import run_named
from shoal.cli.values import AnyProject
from shoal.cli.verbs import verb


def add_to(app: typer.Typer) -> None:
    verb(app, "shoal why @last", "shoal why 1042/load", "shoal why command 4711")(why)


async def why(
    call: Invocation,
    what: Annotated[
        list[str],
        typer.Argument(
            metavar="RUN | RUN/TASK | command ID",
            help="A run, a task of it, or a command.",
            autocompletion=complete_run,
        ),
    ],
    project: AnyProject = None,
) -> None:
    """Explain in one sentence why something does not move, and what to do about it."""
    async with call.client() as client:
        match what:
            case ["command", named]:
                found = await client.ask(explanations.explain_command, _command_id(named))
            case [named] if named != "command":
                of_run, slash, task = named.partition("/")
                run = await run_named(client, of_run, project)
                found = await client.ask(
                    explanations.explain_run, run.id, requests.WhyQuery.read(task=task if slash else None)
                )
            case _:
                raise Refused("say what to explain: a run, RUN/task, or `command ID`")
    if output.printed_json(call, found):
        return
    output.say(plain(found.why))
    output.say(f"→ {plain(found.do)}")


def _command_id(named: str) -> int:
    number = as_id(named)
    if number is None:
        raise NotFound(f'"{named}" is no command; give its id, as `shoal queue` shows it')
    return number
