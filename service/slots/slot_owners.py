"""To which slot and master a command belongs at this moment, for the answer to its caller.

Computed from the rows of the living masters, as each of them computes its own slot. They are read at most twice a
second by a process, however many commands are asked for. It is a hint: masters come and go before one takes the
command, and the transaction of the claim decides who does.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass

from dao.cluster import node_listings
from dao.postgres.database import Database
from model.cluster.slots import Slot
from model.errors import ShoalError
from registry.clock import boottime_s
from service.slots.slot_report import report

VALID_S = 0.5
ANSWER_WITHIN_S = 1.0
"""What is asked for is stored by then: its answer does not wait longer for a hint."""


@dataclass(frozen=True, slots=True)
class Place:
    """The slot of a command and the address of the master that has it; None: no master lives, or it is not known."""

    slot: Slot | None = None
    owner: str | None = None


@dataclass(frozen=True, slots=True)
class _Owners:
    """How many slots there are, and the addresses of the masters by their slots."""

    total: int
    addresses: Mapping[int, str]


class SlotOwners:
    """Reads the living masters; an answer serves all requests of half a second.

    A read that failed serves only those who waited for it: when the database is back, so are the places.

    Args:
        database: that of the cluster.
        id_step: the increment of the ids of commands.
    """

    def __init__(self, database: Database, id_step: int) -> None:
        self._database = database
        self._id_step = id_step
        self._reading: asyncio.Task[_Owners | None] | None = None
        self._read_s = 0.0

    async def place_of(self, command: int) -> Place:
        """The place of a command. Raises nothing: a database that does not answer leaves it unknown."""
        if self._reading is None or (self._reading.done() and boottime_s() > self._read_s + VALID_S):
            self._reading = asyncio.create_task(self._read())
        await asyncio.wait({self._reading}, timeout=ANSWER_WITHIN_S)  # others wait for it too
        owners = self._reading.result() if self._reading.done() else None
        if owners is None or not owners.total:
            return Place()
        slot = Slot.of(command, self._id_step, owners.total)
        return Place(slot, owners.addresses.get(slot.current))

    async def _read(self) -> _Owners | None:
        try:
            masters = await self._database.read(node_listings.masters)
        except ShoalError:
            return None
        self._read_s = boottime_s()
        found = report(masters, None, [], None)
        return _Owners(found.total, {each.slot.current: each.row.address for each in found.masters if each.slot})
