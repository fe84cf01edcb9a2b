"""`shoal master list` and `shoal worker list`: the members of the cluster, with their own reports."""

from __future__ import annotations

from datetime import datetime

import typer

from service.cluster import clock, members
from service.words import ago, plain, when
from shoal.cli import output
from shoal.cli.invocation import Invocation
from shoal.cli.listing import Field, Listing
from shoal.cli.output import Column
from shoal.cli.verbs import verb


def add_to_masters(group: typer.Typer) -> None:
    verb(group, "shoal master list", "shoal master list --json", name="list")(list_masters)


def add_to_workers(group: typer.Typer) -> None:
    verb(group, "shoal worker list", "shoal worker list --json", name="list")(list_workers)


async def list_masters(call: Invocation) -> None:
    """List the masters and their slots, as they are and as each master assumes, and those fenced most recently."""
    async with call.client() as client:
        found = await client.ask(members.get_slots)
        now = (await client.ask(clock.read_clock)).now
    if output.printed_json(call, found):
        return
    if found.registry_fault:
        output.say(f"The registry cannot be asked: {plain(found.registry_fault)}. This is what the database says.")
    output.say(f"total {found.total}")
    _print_slots(call, found, now)
    if found.masters:
        output.hint("What waits for them: shoal queue")
    else:
        output.hint("No master is alive. Start one: shoal master")


def _print_slots(call: Invocation, found: members.SlotsAnswer, now: datetime) -> None:
    rows = [_master_row(master) for master in found.masters]
    for node in found.fenced:
        why = f"{when(node.fenced_at, now, utc=call.utc)}: {node.why}"
        rows.append(("-", node.address, node.epoch, output.state("FENCED"), "-", "-", "-", "-", why))
    if not rows:
        return
    slots, masters, epochs, states, runs, load, believes, beats, notes = zip(*rows, strict=True)
    output.table(
        Column("SLOT", slots, right=True),
        Column("MASTER", masters),
        Column("EPOCH", epochs, keep=2, right=True),
        Column("STATE", states),
        Column("RUNS", runs, keep=5, right=True),
        Column("LOAD", load, keep=1, right=True),
        Column("BELIEVES", believes, keep=4, right=True),
        Column("BEAT", beats, keep=3, right=True),
        Column("NOTE", notes, keep=0, sentence=True),
    )


async def list_workers(call: Invocation) -> None:
    """List the living workers: their groups, and how full they are."""
    async with call.client() as client:
        await WORKERS.show(call, client, (await client.ask(members.list_workers)).items)


def _master_row(master: members.MasterAnswer) -> tuple[object, ...]:
    notes = [drain_note(master)] if master.drain else []
    notes += [master.because] if master.because else []
    if not master.agrees:
        notes.append(f"still believes {master.believes or 'to have none'}; safe: the claim transaction decides")
    if not master.in_registry:
        notes.append("not in the registry")
    return (
        _said(master.slot),
        master.name,
        master.epoch,
        output.state(master_state(master)),
        _said(master.running),
        load(master),
        master.believes or "-",
        ago(master.beat_age_s),
        "; ".join(notes),
    )


def master_state(master: members.MasterAnswer) -> str:
    """LEAVING, DRAINING, BUSY or NORMAL; ALIVE before its first beat."""
    return master.status if master.status and master.condition in ("ALIVE", "BUSY") else master.condition


def drain_note(node: members.NodeAnswer) -> str:
    """When and by whom a node was drained; empty if it was not."""
    drain = node.drain
    if drain is None:
        return ""
    return f"drained {ago(drain.age_s)} by {plain(drain.asked_by)}{'' if drain.confirmed else ', not confirmed yet'}"


def load(node: members.NodeAnswer) -> str:
    return "-" if node.load is None else f"{node.load:.2f}"


def _said(number: int | None) -> str:
    return "-" if number is None else str(number)


WORKERS: Listing[members.NodeAnswer] = Listing(
    (
        Field("WORKER", lambda each: each.name),
        Field("EPOCH", lambda each: each.epoch, keep=1, right=True),
        Field("STATE", lambda each: output.state(each.condition)),
        Field("GROUPS", lambda each: each.groups, keep=4),
        Field("RUNS", lambda each: each.running, keep=5, right=True),
        Field("PLACES", lambda each: each.capacity, keep=5, right=True),
        Field("LOAD", load, keep=0, right=True),
        Field("BEAT", lambda each: ago(each.beat_age_s), keep=2, right=True),
        Field("BUSY BECAUSE", lambda each: each.busy_because or "", sentence=True, rare=True),
        Field("DRAINED", drain_note, keep=1, sentence=True, rare=True),
    ),
    none="No worker is alive.",
    first="Start one: shoal worker",
    then="What waits for them: shoal queue",
)
