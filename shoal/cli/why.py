"""`shoal why`: explains why something does not move."""

from __future__ import annotations

from typing import Annotated

import typer

from shoal.cli.invocation import Invocation
from shoal.cli.values import AnyProject
from shoal.cli.verbs import verb

COMMAND = "command"


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
    from dao.views import listings
    from model.errors import Refused
    from shoal.cli import output
    from shoal.cluster.slot_report import read_slots
    from shoal.explain.facts import Surroundings, answer_command, answer_run_or_task
    from shoal.words import plain

    async with call.reading() as reading:
        settings = call.settings
        around = Surroundings(
            await read_slots(reading.connection, settings),
            await listings.workers(reading.connection),
            settings.master.id_step,
            settings.master.steal_after,
            reading.now,
        )
        match what:
            case ["command", id_]:
                found = await answer_command(reading.connection, around, id_)
            case [named] if named != COMMAND:
                found = await answer_run_or_task(reading.connection, around, named, project)
            case _:
                raise Refused("say what to explain: a run, RUN/task, or `command ID`")
    if call.as_json:
        output.print_json({"why": found.sentence, "do": found.do})
        return
    output.say(plain(found.sentence))
    output.say(f"→ {plain(found.do)}")
