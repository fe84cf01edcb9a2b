"""`shoal events`: the story of a run."""

from __future__ import annotations

import typer

from service.cluster import clock
from service.runs import requests, showing, story_answers
from service.words import when
from shoal.cli import output
from shoal.cli.invocation import Invocation
from shoal.cli.output import Column
from shoal.cli.values import AnyProject, RunName
from shoal.cli.verbs import verb


def add_to(app: typer.Typer) -> None:
    """Add the verb."""
    verb(app, "shoal events @last", "shoal events 1042 --json")(events)


async def events(call: Invocation, run: RunName, project: AnyProject = None) -> None:
    """List what happened to a run, in order: what was asked and by whom, masters, attempts, children, its end."""
    async with call.client() as client:
        now = (await client.ask(clock.read_clock)).now
        id_ = (await client.ask(showing.find_run, requests.RunReference.read(name=run, project=project))).id
        found = (await client.ask(story_answers.get_story, id_)).events
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


def _what(event: story_answers.StoryEventAnswer) -> str:
    if event.child_id is not None:
        return f"run {event.child_id} of {event.workflow or 'a deleted workflow'}, for {event.task} ({event.attempt})"
    if event.task is not None:
        return f"{event.task} ({event.attempt})"
    slot = f", slot {event.slot}" if event.slot else ""
    return f"{event.command_type} {event.command_id}{slot}" if event.command_id else ""
