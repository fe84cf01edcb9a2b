"""`shoal queue`: what waits, for a master or for a worker."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shoal.cli.invocation import Invocation
from shoal.cli.verbs import verb

if TYPE_CHECKING:
    from dao.cluster.nodes import NodeRow
    from dao.views.queue_listings import GroupQueue, Residue, WaitingCommand
    from service.cluster.slot_report import SlotReport


def add_to(app: typer.Typer) -> None:
    """Add the verb."""
    verb(app, "shoal queue", "shoal queue --limit 100")(queue)


@dataclass(frozen=True)
class Waiting:
    """All waiting work. `workers` counts the living workers of each group, `busy` those that take nothing new."""

    slots: SlotReport
    id_step: int
    commands: list[WaitingCommand]
    residues: list[Residue]
    groups: list[GroupQueue]
    workers: Counter[str]
    busy: Counter[str]

    def slot_of(self, command: WaitingCommand) -> int | None:
        """The slot that a command belongs to; None when there is no master."""
        from model.nodes import Slot

        return Slot.of(command.id, self.id_step, self.slots.total).current if self.slots.total else None

    def master_of(self, slot: int) -> str:
        """The address of the master with a slot."""
        return next((each.row.address for each in self.slots.masters if each.slot and each.slot.current == slot), "-")


async def queue(
    call: Invocation, limit: Annotated[int, typer.Option(min=1, max=10_000, help="At most this many commands.")] = 20
) -> None:
    """List what waits: commands for the masters, tasks for the worker groups."""
    from shoal.cli import output

    waiting = await _read(call, limit)
    if call.as_json or not (waiting.commands or waiting.groups):
        others = "What ran: shoal runs   Start something: shoal run NAME"
        output.print_result(call, _fields(waiting), "Nothing waits.", others)
        return
    _print_commands(waiting)
    _print_groups(waiting)
    if waiting.commands:
        output.hint(f"Why one waits: shoal why command {waiting.commands[0].id}")
    else:
        output.hint("Who runs them: shoal workers   What runs: shoal runs --state running_execution")


async def _read(call: Invocation, limit: int) -> Waiting:
    from dao.views import node_listings, queue_listings
    from service.cluster.slot_report import read_slots

    step = call.settings.master.id_step
    async with call.reading() as reading:
        slots = await read_slots(reading.connection, call.settings)
        living = await node_listings.workers(reading.connection)
        return Waiting(
            slots,
            step,
            await queue_listings.waiting_commands(reading.connection, limit),
            await queue_listings.waiting_by_residue(reading.connection, slots.total, step) if slots.total else [],
            await queue_listings.queue_by_group(reading.connection),
            _by_group(living),
            _by_group(row for row in living if row.heartbeat and row.heartbeat.status == "BUSY"),
        )


def _by_group(workers: Iterable[NodeRow]) -> Counter[str]:
    return Counter(group for row in workers if row.heartbeat for group in row.heartbeat.groups)


def _print_commands(waiting: Waiting) -> None:
    from service.words import counted, duration
    from shoal.cli import output
    from shoal.cli.output import Column

    if not waiting.slots.total:
        output.say("No master is alive, so no command is taken.")
    else:
        count = sum(each.waiting for each in waiting.residues)
        output.say(f"Waiting for a master: {counted(count, 'command')}.")
    if not waiting.commands:
        return
    residues, commands = waiting.residues, waiting.commands
    output.table(
        Column("SLOT", [each.slot for each in residues], right=True),
        Column("MASTER", [waiting.master_of(each.slot) for each in residues]),
        Column("WAITING", [each.waiting for each in residues], right=True),
        Column("OLDEST", [duration(each.oldest_s) for each in residues], right=True),
        indent=2,
    )
    slots = [waiting.slot_of(each) for each in commands]
    output.table(
        Column("COMMAND", [each.id for each in commands], right=True),
        Column("TYPE", [each.type for each in commands]),
        Column("WORKFLOW", [each.workflow or f"code {each.workflow_code}" for each in commands], keep=3),
        Column("PRIORITY", [each.priority or "-" for each in commands], keep=1),
        Column("SLOT", ["-" if slot is None else slot for slot in slots], right=True, keep=4),
        Column("AGE", [duration(each.age_s) for each in commands], right=True, keep=2),
        Column("BY", [each.created_by for each in commands], keep=0),
        indent=2,
    )


def _print_groups(waiting: Waiting) -> None:
    from service.words import counted, duration
    from shoal.cli import output
    from shoal.cli.output import Column

    count = sum(each.waiting for each in waiting.groups)
    output.say(f"Waiting for a worker: {counted(count, 'task')}.")
    groups = waiting.groups
    output.table(
        Column("GROUP", [each.worker_group for each in groups]),
        Column("WAITING", [each.waiting for each in groups], right=True),
        Column("OLDEST", [duration(each.oldest_s) for each in groups], right=True),
        Column("RUNNING", [each.running for each in groups], right=True),
        Column("WORKERS", [_serving(waiting, each.worker_group) for each in groups], right=True),
        indent=2,
    )


def _serving(waiting: Waiting, group: str) -> str:
    busy = waiting.busy[group]
    return f"{waiting.workers[group]}{f' ({busy} BUSY)' if busy else ''}"


def _fields(waiting: Waiting) -> dict[str, Any]:
    from shoal.cli.output import json_fields

    return {
        "commands": [json_fields({**asdict(each), "slot": waiting.slot_of(each)}) for each in waiting.commands],
        "slots": [json_fields(asdict(each)) for each in waiting.residues],
        "worker_groups": [
            json_fields(
                {
                    **asdict(each),
                    "workers": waiting.workers[each.worker_group],
                    "busy_workers": waiting.busy[each.worker_group],
                }
            )
            for each in waiting.groups
        ],
    }
