"""Where a batch of commands comes from: a slot, urgent commands, suspect commands, or one quarantined command.

A source takes rows out of the table in the transaction that handles them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

import structlog

from dao.commands import commands, deadly_commands
from dao.commands.deadly_commands import Suspect
from dao.postgres.database import FencedTransaction
from model.cluster.master_settings import MasterSettings
from model.cluster.slots import Slot
from model.ids import CommandId, Epoch
from model.runs.commands import CommandRow
from node.life import Life

log = structlog.get_logger()

BY_AGE_EVERY = 4
"""Every fourth batch begins with aged commands of any slot: a slot's own stream may never end."""

Quarantined = Callable[[], Sequence[CommandId]]


class Source(Protocol):
    """Takes commands."""

    needs_room: bool
    """Whether its commands may begin runs."""

    async def take(self, connection: FencedTransaction, slot: Slot | None, limit: int, /) -> list[CommandRow]:
        """Take at most `limit` commands, for a master with that slot."""
        ...


class SlotSource:
    """The commands of the slot, and aged commands of any slot."""

    needs_room = True

    def __init__(self, settings: MasterSettings, quarantined: Quarantined) -> None:
        self.any_aged = False
        """Whether any slot may have aged commands."""
        self._settings = settings
        self._quarantined = quarantined
        self._turn = 0

    async def take(self, connection: FencedTransaction, slot: Slot | None, limit: int) -> list[CommandRow]:
        rows: list[CommandRow] = []
        self._turn += 1
        by_age_first = self._turn % BY_AGE_EVERY == 0
        if by_age_first:
            rows = await self._steal(connection, limit)
        if slot and len(rows) < limit:
            step, room = self._settings.id_step, limit - len(rows)
            rows += await commands.claim(connection, slot, room, step, self._quarantined())
        if not by_age_first:
            rows += await self._steal(connection, limit - len(rows))
        return rows

    async def _steal(self, connection: FencedTransaction, limit: int) -> list[CommandRow]:
        if not self.any_aged or limit <= 0:
            return []
        stolen = await commands.steal(connection, self._settings.steal_after, limit, self._quarantined())
        self.any_aged = bool(stolen)
        return stolen


class UrgentSource:
    """Commands that need no room: those that halt a run may free some, and failed-over runs had room before."""

    needs_room = False

    def __init__(self, settings: MasterSettings, quarantined: Quarantined) -> None:
        self._settings = settings
        self._quarantined = quarantined

    async def take(self, connection: FencedTransaction, slot: Slot | None, limit: int) -> list[CommandRow]:
        settings = self._settings
        return await commands.claim_urgent(
            connection, slot, settings.steal_after, limit, settings.id_step, self._quarantined()
        )


class SuspectSource:
    """A group of suspect commands, assigned to this master until it has handled them or gives them back.

    A group is retried until it is done, however often the database is unavailable: this master is alive. But commands
    without room are given back, since another master may have room.
    """

    needs_room = True

    def __init__(self, life: Life, quarantined: Quarantined) -> None:
        self.any_waits = False
        """Whether any slot may have suspect commands."""
        self._life = life
        self._epoch: Epoch = life.me.epoch
        self._quarantined = quarantined
        self._group: list[CommandId] = []
        self._taken = 0

    def has_any(self) -> bool:
        """Whether there may be something to try."""
        return bool(self._group or self.any_waits)

    async def next_group(self, room: int) -> Suspect | None:
        """Get a group of at most `room` commands, unless one is pending. Returns a culprit, which is not tried."""
        self._taken = 0
        if self._group:
            return None
        group = await self._life.write(deadly_commands.try_next, self._epoch, room, self._quarantined())
        self.any_waits = bool(group)
        if not group:
            return None
        worst = group[0]
        log.warning("suspect_commands", count=len(group), deaths=worst.deaths, so=worst.consequence)
        if worst.is_the_culprit:
            return worst
        self._group = [each.id for each in group]
        return None

    async def take(self, connection: FencedTransaction, _slot: Slot | None, limit: int) -> list[CommandRow]:
        self._taken = min(limit, len(self._group))
        return await commands.take(connection, self._group[: self._taken])

    def handled(self) -> bool:
        """Record that the taken commands were handled or quarantined. Returns whether there were any."""
        taken, self._taken = self._taken, 0
        self._group = self._group[taken:]
        return taken > 0

    async def give_back(self) -> None:
        """Let other masters try the rest of the group."""
        if self._group:
            await self._life.write(deadly_commands.give_back, self._group, self._epoch)
            self._group = []


class OneCommand:
    """One quarantined command."""

    needs_room = False

    def __init__(self, id_: CommandId) -> None:
        self.was_taken = False
        """Whether the table was searched for it."""
        self._id = id_

    async def take(self, connection: FencedTransaction, _slot: Slot | None, _limit: int) -> list[CommandRow]:
        self.was_taken = True
        return await commands.take(connection, [self._id])
