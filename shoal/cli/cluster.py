"""The verbs about the members of the cluster: `slots` and `workers`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import typer

from shoal.cli.invocation import Invocation
from shoal.cli.verbs import verb

if TYPE_CHECKING:
    from datetime import datetime

    from dao.cluster.nodes import NodeRow
    from service.cluster.slot_report import MasterSlot, SlotReport


def add_to(app: typer.Typer) -> None:
    """Add these verbs."""
    verb(app, "shoal slots", "shoal slots --json")(slots)
    verb(app, "shoal workers")(workers)


async def slots(call: Invocation) -> None:
    """Show the slot of each master, as it is and as the master itself assumes, and the most recently fenced masters."""
    from service.cluster.slot_report import read_slots
    from service.words import plain
    from shoal.cli import output

    async with call.reading() as reading:
        found = await read_slots(reading.connection, call.settings)
    if call.as_json:
        output.print_json(_slots_fields(found))
        return
    if found.registry_fault:
        output.say(f"The registry cannot be asked: {plain(found.registry_fault)}. This is what the database says.")
    output.say(f"total {found.total}")
    _print_slots(call, found, reading.now)
    if found.masters:
        output.hint("What waits for them: shoal queue")
    else:
        output.hint("No master is alive. Start one: shoal master")


def _print_slots(call: Invocation, found: SlotReport, now: datetime) -> None:
    from service.words import when
    from shoal.cli import output
    from shoal.cli.output import Column

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


async def workers(call: Invocation) -> None:
    """List the living workers: their groups, and how full they are."""
    from dao.views import node_listings
    from service.words import ago
    from shoal.cli import output
    from shoal.cli.output import Column

    async with call.reading() as reading:
        found = await node_listings.workers(reading.connection)
    if call.as_json or not found:
        fields = [_node_fields(row) for row in found]
        output.print_result(call, fields, "No worker is alive.", "Start one: shoal worker")
        return
    beats = [row.heartbeat for row in found]
    because = [row.heartbeat.because if row.heartbeat and row.state == "ALIVE" else "" for row in found]
    states = ["BUSY" if why else row.state for row, why in zip(found, because, strict=True)]
    output.table(
        Column("WORKER", [row.shown for row in found]),
        Column("EPOCH", [row.epoch for row in found], keep=1, right=True),
        Column("STATE", list(map(output.state, states))),
        Column("GROUPS", [", ".join(beat.groups) if beat else "-" for beat in beats], keep=4),
        Column("RUNS", [beat.running if beat else "-" for beat in beats], keep=5, right=True),
        Column("PLACES", [beat.capacity if beat else "-" for beat in beats], keep=5, right=True),
        Column("LOAD", [f"{beat.load:.2f}" if beat else "-" for beat in beats], keep=0, right=True),
        Column("BEAT", [ago(row.beat_age_s) for row in found], keep=2, right=True),
        *([Column("BUSY BECAUSE", because, sentence=True)] if any(because) else []),
    )
    output.hint("What waits for them: shoal queue")


def _master_row(master: MasterSlot) -> tuple[object, ...]:
    from service.words import ago
    from shoal.cli import output

    row, beat = master.row, master.row.heartbeat
    notes = [beat.because] if beat and beat.because else []
    if not master.agrees:
        notes.append(f"still believes {master.believes or 'to have none'}; safe: the claim transaction decides")
    if not master.in_registry:
        notes.append("not in the registry")
    return (
        master.slot.current if master.slot else "-",
        row.shown,
        row.epoch,
        output.state(beat.status if beat and row.state == "ALIVE" else row.state),
        beat.running if beat else "-",
        f"{beat.load:.2f}" if beat else "-",
        master.believes or "-",
        ago(row.beat_age_s),
        "; ".join(notes),
    )


def _node_fields(row: NodeRow) -> dict[str, Any]:
    from shoal.cli.output import json_fields

    fields: dict[str, Any] = {
        "epoch": row.epoch,
        "name": row.shown,
        "address": row.address,
        "state": row.state,
        "beat_age_s": row.beat_age_s,
        "log_url": row.log_url,
    }
    if row.heartbeat is not None:
        said = row.heartbeat
        fields |= {"status": said.status, "running": said.running, "capacity": said.capacity, "load": said.load}
        fields |= {"because": said.because} if said.because else {}
        fields |= {"groups": list(said.groups)} if said.groups else {}
    return json_fields(fields)


def _slots_fields(found: SlotReport) -> dict[str, Any]:
    from dataclasses import asdict

    from shoal.cli.output import json_fields

    def slot_fields(master: MasterSlot) -> dict[str, Any]:
        believes = str(master.believes) if master.believes else None
        slot = master.slot.current if master.slot else None
        return json_fields(
            {
                "slot": slot,
                **_node_fields(master.row),
                "believes": believes,
                "agrees": master.agrees,
                "in_registry": master.in_registry,
            }
        )

    return json_fields(
        {
            "total": found.total,
            "masters": [slot_fields(master) for master in found.masters],
            "fenced": [json_fields(asdict(node)) for node in found.fenced],
            "registry_fault": found.registry_fault,
        }
    )
