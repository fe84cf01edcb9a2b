"""The verb `duties`: what is done once in a while for the whole cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from shoal.cli.invocation import Invocation
from shoal.cli.verbs import verb

if TYPE_CHECKING:
    from datetime import datetime

    from service.cluster.duties import DutyAnswer


def add_to(app: typer.Typer) -> None:
    """Add this verb."""
    verb(app, "shoal duties", "shoal duties --json")(duties)


async def duties(call: Invocation) -> None:
    """List what is done once in a while for the whole cluster: when, by which master, and what came of it."""
    from service.cluster.clock import read_clock
    from service.cluster.duties import list_duties
    from service.words import duration, period
    from shoal.cli import output
    from shoal.cli.output import Column

    async with call.client() as client:
        found = (await client.ask(list_duties)).items
        now = (await client.ask(read_clock)).now
    if call.as_json or not found:
        fields = [output.answer_fields(each) for each in found]
        output.print_result(call, fields, "There are no duties yet.", "The first master adds them: shoal master")
        return
    output.table(
        Column("DUTY", [each.name for each in found]),
        Column("EVERY", [period(each.every_s) for each in found], keep=3, right=True),
        Column("DONE", [_done(each, now, utc=call.utc) for each in found], right=True, keep=5),
        Column("BY", [each.last.master if each.last else "-" for each in found], keep=2),
        Column("TOOK", [duration(each.last.took_s) if each.last else "-" for each in found], keep=1, right=True),
        Column("NEXT", [_next(each, now, utc=call.utc) for each in found], right=True, keep=4),
        Column("RESULT", [_result(each) for each in found], keep=6, sentence=True),
    )
    output.hint("Which master has which slot: shoal slots   What is wrong: shoal doctor")


def _done(duty: DutyAnswer, now: datetime, *, utc: bool) -> str:
    from service.words import when

    return when(duty.last.ended_at, now, utc=utc) if duty.last is not None else "-"


def _next(duty: DutyAnswer, now: datetime, *, utc: bool) -> str:
    from service.words import ahead, exact

    if duty.master is not None:
        return f"{duty.master} is at it"
    if duty.is_idle:
        return "when needed"
    return exact(duty.due_at) if utc else ahead((duty.due_at - now).total_seconds())


def _result(duty: DutyAnswer) -> str:
    from service.words import plain

    if duty.error is not None:
        return f"failed, and is tried again: {plain(duty.error)}"
    if duty.last is not None:
        return plain(duty.last.result)
    return "there was nothing to do yet" if duty.is_idle else "not done yet"
