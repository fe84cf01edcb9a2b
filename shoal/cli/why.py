"""`shoal why`: explains why something does not move."""

from __future__ import annotations

from typing import Annotated

import typer

from shoal.cli.call import Call
from shoal.cli.verbs import verb

COMMAND = "command"


def add_to(app: typer.Typer) -> None:
    """Add the verb."""
    verb(app, "shoal why @last", "shoal why 1042/load", "shoal why command 4711")(why)


async def why(
    call: Call,
    what: Annotated[
        list[str], typer.Argument(metavar="RUN | RUN/TASK | command ID", help="A run, a task of it, or a command.")
    ],
) -> None:
    """Explain in one sentence why something does not move, and what to do about it."""
    from dao.views import listings
    from model.errors import Refused
    from shoal.cli import answer
    from shoal.slot_report import read_slots
    from shoal.why_facts import Surroundings, answer_command, answer_run_or_task
    from shoal.words import plain

    async with call.asking() as ask:
        settings = call.settings
        around = Surroundings(
            await read_slots(ask.connection, settings),
            await listings.workers(ask.connection),
            settings.master.id_step,
            settings.master.steal_after,
        )
        match what:
            case ["command", id_]:
                found = await answer_command(ask.connection, around, id_)
            case [named] if named != COMMAND:
                found = await answer_run_or_task(ask.connection, around, named)
            case _:
                raise Refused("say what to explain: a run, RUN/task, or `command ID`")
    if call.as_json:
        answer.print_json({"why": found.sentence, "do": found.do})
        return
    answer.say(plain(found.sentence))
    answer.say(f"→ {plain(found.do)}")
