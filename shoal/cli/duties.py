"""`shoal master duties`: the periodic work for the whole cluster."""

from __future__ import annotations

import typer

from service.cluster import duties as cluster_duties
from service.words import duration, period, plain
from shoal.cli.invocation import Invocation
from shoal.cli.listing import Field, Listing
from shoal.cli.verbs import verb


def add_to_masters(group: typer.Typer) -> None:
    verb(group, "shoal master duties", "shoal master duties --json")(duties)


async def duties(call: Invocation) -> None:
    """List the periodic work for the whole cluster: when, by which master, and with what result."""
    async with call.client() as client:
        await DUTIES.show(call, client, (await client.ask(cluster_duties.list_duties)).items)


def _next(duty: cluster_duties.DutyAnswer) -> object:
    if duty.master is not None:
        return f"{duty.master} is at it"
    return "when needed" if duty.is_idle else duty.due_at


def _result(duty: cluster_duties.DutyAnswer) -> str:
    if duty.error is not None:
        return f"failed, and is tried again: {plain(duty.error)}"
    if duty.last is not None:
        return plain(duty.last.result)
    return "there was nothing to do yet" if duty.is_idle else "not done yet"


DUTIES: Listing[cluster_duties.DutyAnswer] = Listing(
    (
        Field("DUTY", lambda each: each.name),
        Field("EVERY", lambda each: period(each.every_s), keep=3, right=True),
        Field("DONE", lambda each: each.last and each.last.ended_at, right=True, keep=5),
        Field("BY", lambda each: each.last and each.last.master, keep=2),
        Field("TOOK", lambda each: each.last and duration(each.last.took_s), keep=1, right=True),
        Field("NEXT", _next, right=True, keep=4),
        Field("RESULT", _result, keep=6, sentence=True),
    ),
    none="There are no duties yet.",
    first="The first master adds them: shoal master",
    then="Which master has which slot: shoal master list   What is wrong: shoal doctor",
)
