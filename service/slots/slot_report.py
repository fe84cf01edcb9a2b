"""The slots of all masters: the actual ones, computed as every master computes them, beside what each master believes.

The two differ briefly while a master joins or leaves. That is safe: the transaction of the claim decides who gets a
command, the slot only divides the work.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dao.cluster import node_listings
from model.cluster.nodes import Heartbeat, NodeKind, NodeState
from model.cluster.slot_view import slot_view
from model.cluster.slots import Slot
from model.ids import Epoch

if TYPE_CHECKING:
    from dao.cluster.node_rows import NodeRow
    from dao.cluster.rows import FencedNode
    from dao.postgres.pool import AsyncConnection
    from service.cluster.registered_masters import Registered

FENCED_SHOWN_MAX = 5


@dataclass(frozen=True)
class MasterSlot:
    """A living master: its actual slot, and the one that it believes it has."""

    row: NodeRow
    slot: Slot | None
    believes: Slot | None
    in_registry: bool

    @property
    def agrees(self) -> bool:
        return self.slot == self.believes


@dataclass(frozen=True)
class SlotReport:
    """All masters, ordered by slot, and those fenced most recently, newest first.

    `total` is the number of slots. `registry_fault` is why the registry could not be read; slots then come from the
    database alone.
    """

    masters: Sequence[MasterSlot]
    fenced: Sequence[FencedNode]
    total: int
    registry_fault: str | None


async def read_slots(connection: AsyncConnection, registered: Registered) -> SlotReport:
    """Read the database, for the masters that were in the registry just before."""
    rows = await node_listings.masters(connection)
    fenced = await node_listings.last_fenced(connection, 10 * FENCED_SHOWN_MAX)
    of_masters = [node for node in fenced if node.kind is NodeKind.MASTER]
    return report(rows, registered.masters, of_masters[:FENCED_SHOWN_MAX], registered.fault)


def report(
    rows: Sequence[NodeRow], members: Sequence[Heartbeat] | None, fenced: Sequence[FencedNode], fault: str | None
) -> SlotReport:
    """Combine the data. Pure. `members` None: the registry could not be read."""
    present: Collection[Epoch] = {row.epoch for row in rows}
    if members is None:
        members = [row.heartbeat for row in rows if row.heartbeat is not None]
    else:
        present = {member.epoch for member in members}
    view = slot_view(members, {row.epoch for row in rows if row.state is NodeState.ALIVE})
    masters = [
        MasterSlot(row, view.slot_of(row.epoch), row.heartbeat.slot if row.heartbeat else None, row.epoch in present)
        for row in rows
    ]
    masters.sort(key=lambda each: (each.slot is None, each.slot or Slot(0, 1), each.row.epoch))
    return SlotReport(masters, fenced, len(view.masters), fault)
