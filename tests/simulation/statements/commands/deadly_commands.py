"""The statements of `dao/commands/deadly_commands.py`."""

from __future__ import annotations

from collections.abc import Sequence

from dao.commands.deadly_commands import GROUPS, SUSPECTS_MAX, Suspect
from model.cluster.nodes import NodeState
from model.cluster.slots import Slot
from model.ids import CommandId, Epoch
from model.runs.command_moves import CommandType
from tests.simulation.tables import Row, Transaction, Values

NEXT = CommandType.RECOVER_SERIAL_WAIT


def mark_suspects(tx: Transaction, dead: Epoch, slot: Slot) -> int:
    """The first of its slot, the oldest of all, and what it tried when it died; FOR UPDATE SKIP LOCKED."""
    waiting = list(tx.scan(tx.server.commands.rows))
    untouched = [(row, each) for row, each in waiting if each.deaths == 0 and (each.rank >= 0 or each.type is NEXT)]
    of_its_slot = sorted(
        ((row, each) for row, each in untouched if slot.owns(row.id, 1)), key=lambda one: (one[1].rank, one[0].id)
    )
    oldest = sorted(untouched, key=lambda one: one[1].created_s)
    tried = [(row, each) for row, each in waiting if each.deaths > 0 and each.tried_by == dead]
    picked: dict[Row, Values] = dict([*of_its_slot[:SUSPECTS_MAX], *oldest[:SUSPECTS_MAX], *tried])
    count = 0
    for row, each in picked.items():
        if tx.try_lock(row):
            tx.update(row, deaths=each.deaths + tx.server.protections.deaths, tried_by=None)
            count += 1
    return count


def free(tx: Transaction, master: Epoch) -> list[tuple[Row, Values]]:
    """The commands that no other living master tries, most deaths first."""

    def lives(epoch: int | None) -> bool:
        node = None if epoch is None else tx.get(tx.server.nodes, epoch)
        return epoch != master and node is not None and node.state in (NodeState.ALIVE, NodeState.LEAVING)

    found = [(row, each) for row, each in tx.scan(tx.server.commands.rows) if each.deaths and not lives(each.tried_by)]
    return sorted(found, key=lambda one: (-one[1].deaths, one[0].id))


def try_next(tx: Transaction, master: Epoch, room: int, without: Sequence[CommandId] = ()) -> list[Suspect]:
    """Those of the most deaths, as many as may be tried at once and there is room for; FOR UPDATE SKIP LOCKED."""
    unlocked = [(row, each) for row, each in free(tx, master) if row.id not in without and tx.try_lock(row)]
    if not unlocked:
        return []
    deaths = unlocked[0][1].deaths
    limit = GROUPS[deaths - 1] if deaths <= len(GROUPS) else 1
    group = [row for row, each in unlocked if each.deaths == deaths][: min(limit, room)]
    for row in group:
        tx.update(row, tried_by=master)
    return [Suspect(row.id, deaths) for row in group]


def give_back(tx: Transaction, ids: Sequence[CommandId], master: Epoch) -> None:
    """WHERE tried_by = :master."""
    for row, each in list(tx.scan(tx.server.commands.rows)):
        if row.id in ids and each.tried_by == master:
            tx.update(row, tried_by=None)
