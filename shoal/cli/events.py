"""`shoal events`: the story of a run."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from shoal.cli.invocation import Invocation
from shoal.cli.runs import RunName
from shoal.cli.values import AnyProject
from shoal.cli.verbs import verb

if TYPE_CHECKING:
    from service.runs.story_answers import StoryEventAnswer


def add_to(app: typer.Typer) -> None:
    """Add the verb."""
    verb(app, "shoal events @last", "shoal events 1042 --json")(events)


async def events(call: Invocation, run: RunName, project: AnyProject = None) -> None:
    """List what happened to a run, in order: what was asked and by whom, masters, attempts, children, its end."""
    from service.cluster.clock import read_clock
    from service.runs.requests import RunReference
    from service.runs.showing import find_run
    from service.runs.story_answers import get_story
    from service.words import when
    from shoal.cli import output
    from shoal.cli.output import Column

    async with call.client() as client:
        now = (await client.ask(read_clock)).now
        id_ = (await client.ask(find_run, RunReference.read(name=run, project=project))).id
        found = (await client.ask(get_story, id_)).events
    if call.as_json:
        output.print_json([output.answer_fields(event) for event in found])
        return
    output.table(
        Column("TIME", [when(event.at, now, utc=call.utc) for event in found], right=True),
        Column("EVENT", [event.kind for event in found]),
        Column("WHAT", [_what(event) for event in found], keep=6),
        Column("STATE", [output.state(event.state) if event.state else "" for event in found], keep=5),
        Column("BY", [event.node or event.by or "-" for event in found], keep=4),
        Column("WHY", [event.reason or "" for event in found], keep=2, sentence=True),
    )
    output.hint(f"Its tasks: shoal show {id_}   Why it does not move: shoal why {id_}")


def _what(event: StoryEventAnswer) -> str:
    if event.child_id is not None:
        return f"run {event.child_id} of {event.workflow or 'a deleted workflow'}, for {event.task} ({event.attempt})"
    if event.task is not None:
        return f"{event.task} ({event.attempt})"
    slot = f", slot {event.slot}" if event.slot else ""
    return f"{event.command_type} {event.command_id}{slot}" if event.command_id else ""
