"""Records who has slots, for people: each change once for the whole cluster (`dao/cluster/slot_changes.py`)."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterable

import structlog

from dao.cluster import slot_changes
from dao.postgres.errors import BadData
from model.cluster.nodes import Heartbeat, NodeStatus
from model.cluster.slot_view import SlotView
from model.errors import Unavailable, Unknown
from model.ids import Epoch
from node.life import Life
from node.waiting import set_within

log = structlog.get_logger()

RETRY_EVERY_S = 5.0


class SlotRecord:
    """Written by the master of the first slot when its view changes; the statements of others change nothing.

    It has its own loop: computing slots, joining and failover never wait for a record that only people read.
    """

    def __init__(self, life: Life) -> None:
        self._life = life
        self._noted = asyncio.Event()
        self._view = SlotView(())
        self._busy: Collection[Epoch] = ()
        self._written: SlotView | None = None

    def note(self, view: SlotView, members: Iterable[Heartbeat]) -> None:
        """Note who has slots now, and which masters have none because they are BUSY."""
        self._busy = {member.epoch for member in members if member.status is NodeStatus.BUSY}
        if view != self._view:
            self._view = view
            self._noted.set()

    async def run(self) -> None:
        """Write each noted view, forever. Raises `Fenced`."""
        while True:
            await self._write(self._view)
            await set_within(self._noted, RETRY_EVERY_S)

    async def _write(self, view: SlotView) -> None:
        if view.masters[:1] != (self._life.me.epoch,):
            self._written = None
        elif view != self._written:
            try:
                await self._life.write(slot_changes.record, view.masters, self._busy)
                self._written = view
            except (Unavailable, Unknown, BadData) as error:
                log.warning("slots_not_recorded", error=str(error), so="it is retried within seconds")
