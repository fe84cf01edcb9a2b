"""`shoal master duties`: what is done once in a while for the whole cluster."""

from __future__ import annotations

from datetime import datetime

import typer

from service.cluster import clock
from service.cluster import duties as cluster_duties
from service.words import ahead, duration, exact, period, plain, when
from shoal.cli import output
from shoal.cli.invocation import Invocation
from shoal.cli.output import Column
from shoal.cli.verbs import verb


def add_to_masters(group: typer.Typer) -> None:
    """Add this verb."""
    verb(group, "shoal master duties", "shoal master duties --json")(duties)


async def duties(call: Invocation) -> None:
    """List what is done once in a while for the whole cluster: when, by which master, and what came of it."""
    async with call.client() as client:
        found = (await client.ask(cluster_duties.list_duties)).items
        now = (await client.ask(clock.read_clock)).now
    if not output.needs_table(call, found, "There are no duties yet.", "The first master adds them: shoal master"):
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
    output.hint("Which master has which slot: shoal master list   What is wrong: shoal doctor")


def _done(duty: cluster_duties.DutyAnswer, now: datetime, *, utc: bool) -> str:
    return when(duty.last.ended_at, now, utc=utc) if duty.last is not None else "-"


def _next(duty: cluster_duties.DutyAnswer, now: datetime, *, utc: bool) -> str:
    if duty.master is not None:
        return f"{duty.master} is at it"
    if duty.is_idle:
        return "when needed"
    return exact(duty.due_at) if utc else ahead((duty.due_at - now).total_seconds())


def _result(duty: cluster_duties.DutyAnswer) -> str:
    if duty.error is not None:
        return f"failed, and is tried again: {plain(duty.error)}"
    if duty.last is not None:
        return plain(duty.last.result)
    return "there was nothing to do yet" if duty.is_idle else "not done yet"
