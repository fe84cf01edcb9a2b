"""The slots of all masters: the actual ones, computed as every master computes them, beside what each master believes.

The two differ briefly while a master joins or leaves. That is safe: the transaction of the claim decides who gets a
command, the slot only divides the work.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from sqlalchemy.ext.asyncio import AsyncConnection

from dao.cluster import cluster
from dao.cluster.nodes import NodeRow
from dao.views import node_listings
from dao.views.node_listings import FencedNode
from model.errors import Refused, Unavailable
from model.ids import Epoch
from model.nodes import Heartbeat, NodeKind, NodeState, Slot
from model.slots import slot_view
from registry import belonging
from registry.connect import make_registry
from service.settings import ServiceSettings

REGISTRY_TIMEOUT_S = 3.0
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
        """Whether it believes the actual one."""
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


async def read_slots(connection: AsyncConnection, settings: ServiceSettings) -> SlotReport:
    """Read the registry and the database. An unreachable registry is reported in the result, not raised.

    Raises `AnotherRegistry` when the settings have a registry that is not the cluster's.
    """
    members, fault = await registered_masters(connection, settings)
    rows = await node_listings.masters(connection)
    fenced = await node_listings.last_fenced(connection, 10 * FENCED_SHOWN_MAX)
    of_masters = [node for node in fenced if node.kind is NodeKind.MASTER]
    return report(rows, members, of_masters[:FENCED_SHOWN_MAX], fault)


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


async def registered_masters(
    connection: AsyncConnection, settings: ServiceSettings
) -> tuple[list[Heartbeat] | None, str | None]:
    """The masters that the registry has; else None, and why it could not be read. Raises `AnotherRegistry`."""
    recorded = await cluster.registry(connection)
    url = belonging.url_to_use(settings.named_registry(), recorded, settings.database())
    timeout = settings.timing.session_timeout
    registry = make_registry(url, session_timeout=timeout, application_name="shoal-cli")
    try:
        await registry.open(REGISTRY_TIMEOUT_S)
        if recorded is not None:
            await belonging.check(registry, recorded, belonging.place_of(url, settings.database()))
        return await registry.members(NodeKind.MASTER), None
    except belonging.AnotherRegistry:
        raise
    except (Unavailable, Refused) as error:
        return None, str(error)
    finally:
        await registry.close()
