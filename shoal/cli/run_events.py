"""What `shoal show --events` prints: the story of a run."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from service.runs import story_answers
from service.words import when
from shoal.cli import output
from shoal.cli.output import Column


def print_events(found: Sequence[story_answers.StoryEventAnswer], now: datetime, *, utc: bool) -> None:
    """Print what happened to a run, in order: what was asked and by whom, masters, attempts, children, its end."""
    output.table(
        Column("TIME", [when(event.at, now, utc=utc) for event in found], right=True),
        Column("EVENT", [event.kind for event in found]),
        Column("WHAT", [_what(event) for event in found], keep=6),
        Column("STATE", [output.state(event.state) if event.state else "" for event in found], keep=5),
        Column("BY", [event.node or event.by or "-" for event in found], keep=4),
        Column("WHY", [event.reason or "" for event in found], keep=2, sentence=True),
    )


def _what(event: story_answers.StoryEventAnswer) -> str:
    if event.child_id is not None:
        return f"run {event.child_id} of {event.workflow or 'a deleted workflow'}, for {event.task} ({event.attempt})"
    if event.task is not None:
        return f"{event.task} ({event.attempt})"
    slot = f", slot {event.slot}" if event.slot else ""
    return f"{event.command_type} {event.command_id}{slot}" if event.command_id else ""
