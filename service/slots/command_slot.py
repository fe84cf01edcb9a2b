"""The operation that shows to which slot a command belongs."""

from __future__ import annotations

from dao.cluster import nodes, slot_changes
from dao.runs import lookups
from model.accounts.rights import Right
from model.cluster.slots import Slot
from model.ids import CommandId
from service.call import Call
from service.explain.explanation import why_command
from service.explain.facts import Masters, command_facts
from service.fields import Answer, Id, WrittenId
from service.operation import operation


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


@operation("GET", "/commands/{id}/slot", Right.VIEW, "commands")
async def locate_command(call: Call, id: Id) -> CommandSlotAnswer:
    """Show to which slot a command belongs, which master holds that now, and why none has taken it or who did."""
    registered = await call.backend.registered.read()
    async with call.database.snapshot() as connection:
        fate = await lookups.fate_of(connection, CommandId(id))
        call.permit(await lookups.project_of_command(connection, CommandId(id)))
        masters = Masters.of(await nodes.living(connection), registered.masters, call.settings.master)
        then = await slot_changes.in_force_for(connection, CommandId(id))
        taker = await lookups.node_life(connection, fate.master_id) if fate.master_id is not None else None
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
        run_id=fate.run_id,
        taken_by=taker.address if taker else None,
        taken_slot=fate.slot,
        why=why.sentence,
        do=why.do,
    )
