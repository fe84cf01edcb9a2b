"""The record of who has slots, for people: each change once for the whole cluster (`dao/cluster/slot_changes.py`)."""

from __future__ import annotations

from collections.abc import Iterable

import structlog

from dao.cluster import slot_changes
from dao.postgres.errors import BadData
from model.errors import Unavailable, Unknown
from model.ids import Epoch
from model.nodes import Heartbeat, NodeStatus
from model.slots import SlotView
from node.life import Life

log = structlog.get_logger()


class SlotRecord:
    """Written by the master of the first slot, when its view changed; by others their statement changes nothing."""

    def __init__(self, life: Life) -> None:
        self._life = life
        self._busy: set[Epoch] = set()
        self._written: SlotView | None = None

    def note(self, members: Iterable[Heartbeat]) -> None:
        """Note which masters are BUSY, and so have no slot."""
        self._busy = {member.epoch for member in members if member.status is NodeStatus.BUSY}

    async def write(self, view: SlotView) -> None:
        """Write the view, if it is ours to do and is not written yet. Raises `Fenced`."""
        if view.masters[:1] != (self._life.me.epoch,):
            self._written = None
        elif view != self._written:
            try:
                async with self._life.writing() as connection:
                    await slot_changes.record(connection, view.masters, self._busy)
                self._written = view
            except (Unavailable, Unknown, BadData) as error:
                log.warning("slots_not_recorded", error=str(error), so="it is retried within seconds")
