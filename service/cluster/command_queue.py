"""The operations about commands that wait: which there are, and to which slot and master each belongs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated

from pydantic import Field

from dao.cluster import nodes, slot_changes
from dao.views import lookups, node_listings, queue_listings
from dao.views.queue_listings import WaitingCommand
from model.ids import CommandId
from model.nodes import Slot
from model.rights import Right
from service.call import Call
from service.cluster.members import WorkerGroupAnswer, groups_of
from service.cluster.slot_report import SlotReport, read_slots
from service.explain.explanation import why_command
from service.explain.facts import Masters, command_facts
from service.fields import Answer, Asked, Id, WrittenId
from service.operation import operation
from service.pages import PageOf, PageQuery, page_of


class WaitingCommandAnswer(Answer):
    """A command that no master has taken yet. `owner` is the address of the master that has its slot now."""

    id: Id
    type: str
    workflow_code: WrittenId | None = None
    workflow: str | None = None
    project: str | None = None
    run_id: WrittenId | None = None
    priority: str | None = None
    age_s: float | None = None
    created_by: str
    slot: int | None = None
    owner: str | None = None


class SlotQueueAnswer(Answer):
    """The commands that wait for one slot, the age of the oldest, and the address of the master that has the slot."""

    slot: int
    master: str | None = None
    waiting: int
    oldest_s: float | None = None


class QueueAnswer(Answer):
    """All waiting work: the first commands in the order in which they will be taken, and the counts of all.

    `total` is the number of slots; without a master there is none, and `slots` is empty. A command with the number `id`
    belongs to the slot `id / id_step mod total`.
    """

    total: int
    id_step: int
    commands: Sequence[WaitingCommandAnswer]
    slots: Sequence[SlotQueueAnswer]
    worker_groups: Sequence[WorkerGroupAnswer]


class QueueQuery(Asked):
    """How much of the queue is shown."""

    limit: Annotated[int, Field(ge=1, le=10_000, description="at most this many commands")] = 20


class CommandSlotAnswer(Answer):
    """Where a command belongs: the slot that it has now and the master that holds it, or who took it and when it did.

    `slot` is such as `1/3`. `taken_by` is the address of the master that took it, `taken_slot` the slot that this
    master had then; without one it took the command because that had waited for long. `slot_then` and `owner_then` (a
    master's name) are those of the moment in which the command was asked for, as far as that is on record.
    """

    id: Id
    waits: bool
    slot: str | None = None
    owner: str | None = None
    slot_then: str | None = None
    owner_then: str | None = None
    run_id: WrittenId | None = None
    taken_by: str | None = None
    taken_slot: str | None = None
    why: str
    do: str


@operation("GET", "/queue", Right.VIEW_CLUSTER, "cluster")
async def get_queue(call: Call, query: QueueQuery) -> QueueAnswer:
    """Show what waits: commands for the masters, tasks for the worker groups.

    Of the commands it shows those of the projects that the caller may see, of all others the numbers.
    """
    call.permit(None)
    step = call.settings.master.id_step
    registered = await call.backend.registered.read()
    async with call.reading() as connection:
        slots = await read_slots(connection, registered)
        living = await node_listings.workers(connection)
        commands = await queue_listings.waiting_commands(
            connection, query.limit, visible=call.caller.projects_with(Right.VIEW)
        )
        residues = await queue_listings.waiting_by_residue(connection, slots.total, step) if slots.total else []
        queue = await queue_listings.queue_by_group(connection)
    owners = _owners(slots)
    return QueueAnswer(
        total=slots.total,
        id_step=step,
        commands=[_waiting(each, slots.total, step, owners) for each in commands],
        slots=[
            SlotQueueAnswer(slot=each.slot, master=owners.get(each.slot), waiting=each.waiting, oldest_s=each.oldest_s)
            for each in residues
        ],
        worker_groups=[each for each in groups_of(queue, living) if each.waiting or each.running],
    )


@operation("GET", "/commands", Right.VIEW, "commands")
async def list_commands(call: Call, query: PageQuery) -> PageOf[WaitingCommandAnswer]:
    """List the commands that wait for a master, in the order in which they were asked for."""
    visible = call.visible()
    step = call.settings.master.id_step
    registered = await call.backend.registered.read()
    async with call.reading() as connection:
        found = await queue_listings.commands_by_id(connection, query.limit + 1, query.after or 0, visible)
        slots = await read_slots(connection, registered)
    owners = _owners(slots)
    return page_of(found, query.limit, lambda each: _waiting(each, slots.total, step, owners), lambda each: each.id)


@operation("GET", "/commands/{id}/slot", Right.VIEW, "commands")
async def locate_command(call: Call, id: Id) -> CommandSlotAnswer:
    """Show to which slot a command belongs, which master holds that now, and why none has taken it or who did."""
    registered = await call.backend.registered.read()
    async with call.database.snapshot() as connection:
        fate = await lookups.fate_of(connection, CommandId(id))
        call.permit(await lookups.project_of_command(connection, CommandId(id)))
        masters = Masters.of(await nodes.living(connection), registered.masters, call.settings.master)
        then = await slot_changes.in_force_for(connection, CommandId(id))
        taker = await lookups.node_life(connection, fate.master) if fate.master is not None else None
    facts = command_facts(fate, masters)
    why = why_command(facts)
    slot_then = Slot.of(id, call.settings.master.id_step, len(then.members)) if then and then.members else None
    return CommandSlotAnswer(
        id=id,
        waits=facts.waits,
        slot=str(facts.slot) if facts.slot else None,
        owner=facts.owner.address if facts.owner else None,
        slot_then=str(slot_then) if slot_then else None,
        owner_then=then.members[slot_then.current].name if then and slot_then else None,
        run_id=fate.run,
        taken_by=taker.address if taker else None,
        taken_slot=str(fate.slot) if fate.slot else None,
        why=why.sentence,
        do=why.do,
    )


def _waiting(command: WaitingCommand, total: int, step: int, owners: Mapping[int, str]) -> WaitingCommandAnswer:
    slot = Slot.of(command.id, step, total).current if total else None
    return WaitingCommandAnswer(
        id=command.id,
        type=command.type,
        workflow_code=command.workflow_code,
        workflow=command.workflow,
        project=command.project,
        run_id=command.run,
        priority=command.priority,
        age_s=command.age_s,
        created_by=command.created_by,
        slot=slot,
        owner=None if slot is None else owners.get(slot),
    )


def _owners(slots: SlotReport) -> dict[int, str]:
    """The addresses of the masters by their slots."""
    return {each.slot.current: each.row.address for each in slots.masters if each.slot}
