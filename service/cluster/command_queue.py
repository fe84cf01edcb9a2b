"""The operations about commands that wait: which there are, and to which slot and master each belongs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Annotated

from pydantic import Field

from dao.cluster import node_listings
from dao.commands import queue_listings
from dao.commands.rows import Residue, WaitingCommand
from model.accounts.rights import Right
from model.cluster.slots import Slot
from service.call import Call
from service.cluster.members import WorkerGroupAnswer, groups_of
from service.fields import Answer, Asked, Id, WrittenId
from service.operation import operation
from service.paging import PageOf, PageQuery, page_of
from service.slots.slot_report import SlotReport, read_slots


class WaitingCommandAnswer(Answer, WaitingCommand):
    """A command that no master has taken yet. `owner` is the address of the master that has its slot now."""

    workflow_code: WrittenId | None = None
    run_id: WrittenId | None = None
    slot: int | None = None
    owner: str | None = None


class SlotQueueAnswer(Answer, Residue):
    """The commands that wait for one slot, the age of the oldest, and the address of the master that has the slot."""

    master: str | None = None


class LastTakenAnswer(Answer):
    """The newest command that a master has taken: how long ago, and how long after it was asked for.

    `id` is left out for who may not see all projects.
    """

    id: Id | None = None
    type: str
    ago_s: float
    took_s: float | None = None


class QueueAnswer(Answer):
    """All waiting work: the first commands in the order in which they will be taken, and the counts of all.

    `total` is the number of slots. It is 0, and `slots` is empty, if each of the living `masters` is drained or has no
    slot yet; `drained_masters` counts the drained ones. A command with the number `id` belongs to the slot
    `id / id_step mod total`. If not `is_complete`, more than 50,000 commands wait, and `slots`
    counts the oldest 50,000.
    """

    total: int
    id_step: int
    is_complete: bool
    commands: Sequence[WaitingCommandAnswer]
    slots: Sequence[SlotQueueAnswer]
    worker_groups: Sequence[WorkerGroupAnswer]
    last_taken: LastTakenAnswer | None = None
    masters: int = 0
    drained_masters: int = 0


class QueueQuery(Asked):
    """How much of the queue is shown."""

    limit: Annotated[int, Field(ge=1, le=10_000, description="at most this many commands")] = 20


@operation("GET", "/queue", Right.VIEW_CLUSTER, "cluster")
async def get_queue(call: Call, query: QueueQuery) -> QueueAnswer:
    """Show what waits: commands for the masters, tasks for the worker groups.

    Of the commands it shows those of the projects that the caller may see, of all others the numbers. Who may not see
    all projects gets those among the first 5,000 commands.
    """
    step = call.settings.master.id_step
    registered = await call.backend.registered.read()
    async with call.reading() as connection:
        slots = await read_slots(connection, registered)
        living = await node_listings.workers(connection)
        commands = await queue_listings.waiting_commands(
            connection, query.limit, visible=call.caller.projects_with(Right.VIEW)
        )
        residues = await queue_listings.waiting_by_residue(connection, slots.total, step) if slots.total else []
        is_complete = not await queue_listings.is_longer(connection)
        queue = await queue_listings.queue_by_group(connection)
        last = await queue_listings.last_taken(connection)
    hidden = {} if call.caller.sees_all else {"id": None}
    owners = _owners(slots)
    return QueueAnswer(
        total=slots.total,
        id_step=step,
        is_complete=is_complete,
        commands=[_waiting(each, slots.total, step, owners) for each in commands],
        slots=[SlotQueueAnswer.showing(each, master=owners.get(each.slot)) for each in residues],
        worker_groups=[each for each in groups_of(queue, living) if each.waiting or each.running],
        last_taken=None if last is None else LastTakenAnswer(**{**asdict(last), **hidden}),
        masters=len(slots.masters),
        drained_masters=sum(each.row.drain is not None for each in slots.masters),
    )


@operation("GET", "/commands", Right.VIEW, "commands")
async def list_commands(call: Call, query: PageQuery) -> PageOf[WaitingCommandAnswer]:
    """List the commands that wait for a master, in the order in which they were asked for.

    A page reads at most 5,000 commands, so one of a project that few of them are of may be short, and not the last.
    """
    visible = call.visible()
    step = call.settings.master.id_step
    registered = await call.backend.registered.read()
    async with call.reading() as connection:
        found, up_to = await queue_listings.commands_by_id(connection, query.limit + 1, query.after or 0, visible)
        slots = await read_slots(connection, registered)
    owners = _owners(slots)
    return page_of(
        *(found, query.limit, lambda each: _waiting(each, slots.total, step, owners), lambda each: each.id),
        walked_to=up_to,
    )


def _waiting(command: WaitingCommand, total: int, step: int, owners: Mapping[int, str]) -> WaitingCommandAnswer:
    slot = Slot.of(command.id, step, total).current if total else None
    owner = None if slot is None else owners.get(slot)
    return WaitingCommandAnswer.showing(command, slot=slot, owner=owner)


def _owners(slots: SlotReport) -> dict[int, str]:
    """The addresses of the masters by their slots."""
    return {each.slot.current: each.row.address for each in slots.masters if each.slot}
