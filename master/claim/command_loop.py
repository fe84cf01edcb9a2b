"""The command loop: takes commands from the table and makes runs of them, one transaction a batch.

The transaction is fenced. It deletes the commands of our slot, makes or fails over instances, queues their first tasks
and records the result of each command. Runs that it made are removed from memory if it does not commit. A fault of a
command ends that command, in the error table; a fault of the environment (a lost connection) leaves all commands in the
table. If a batch fails for a reason that may concern one command alone (another session's lock, an unexpected error),
its commands are retried one by one: a command that fails again is refused, and one that cannot even be refused is
quarantined, so that no row blocks the others.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence

import structlog

from dao.commands import commands, suspect_commands
from dao.commands.commands import Outcome
from dao.postgres.database import FencedTransaction
from dao.postgres.errors import BadData, LockTaken
from dao.runs import control
from master.claim.batch import AdaptiveBatch
from master.claim.batch_work import BatchWork
from master.claim.control_commands import Mover
from master.claim.failover_commands import claim_failover
from master.claim.quarantine import Quarantine
from master.claim.rejected_commands import refuse_alone
from master.claim.serial import hold
from master.claim.start_commands import Starter, tell_parent
from master.drive.driver import Driver
from master.drive.plans import Fetched
from master.drive.writes import Writes
from master.membership.membership import Membership
from master.settings import MasterSettings
from model.command_moves import HALTING, URGENT
from model.commands import CommandRow, Move, RecoverSerialWait, RecoverToleranceFault, Start, read_command
from model.errors import Refused
from model.ids import CommandId
from model.nodes import Slot
from node.life import Life
from node.write_loop import blaming_the_data, run_rounds
from registry.clock import boottime_s

log = structlog.get_logger()

OVERLOADED_BATCH = 50
"""The batch size of a master whose machine is overloaded, if it is the only master or all others are overloaded too. It
polls at least every `look_every`: more slowly than usual, but it never stops."""

BY_AGE_EVERY = 4
"""Every fourth batch begins with commands that have waited too long, in any slot: a slot's own stream may never end."""

Take = Callable[[FencedTransaction, Slot | None, int], Awaitable[list[CommandRow]]]
"""Takes at most the given number of commands from the table, for a master with that slot."""


class CommandLoop:
    """Takes the commands of this master's slot, and steals those of any slot that have waited too long."""

    def __init__(self, life: Life, membership: Membership, driver: Driver, settings: MasterSettings) -> None:
        self.wake = asyncio.Event()
        """Set when there may be commands."""
        self.aged = False
        """Set with `wake` when some commands have waited too long, in any slot."""
        self.suspect = False
        """Set with `wake` when there are suspect commands, in any slot."""
        self.stolen = 0
        """Stolen commands so far; should stay 0."""
        self._life = life
        self._membership = membership
        self._driver = driver
        self._settings = settings
        self._batch = AdaptiveBatch(settings.batch_max)
        self._failing: list[CommandRow] = []
        self._aside: Quarantine[CommandId] = Quarantine(self.wake, self._handle_alone, self._refuse, self._say_it_waits)
        self._urgent: set[CommandId] = set()
        """The quarantined ones that need no room."""
        self._trying: list[CommandId] = []
        self._turn = 0
        self._full = False
        self._starter = Starter(life.me.epoch, driver)
        self._mover = Mover(life.me.epoch, driver)
        driver.runs.room_made = self._room_made

    async def run(self) -> None:
        """Claim until cancelled, once it is known which masters died. Raises `Fenced`."""
        await self._membership.certain.wait()
        await run_rounds(
            "claim",
            self.wake,
            self._catch_up,
            self._life,
            shrink=self._batch.failed,
            read_again=self._driver.reload,
        )

    async def _catch_up(self) -> None:
        goes_on = True
        while goes_on:  # in turn, so that suspect and quarantined commands do not wait for the end of a stream
            goes_on = await self._one_batch(self._take if self._room > 0 else self._take_urgent)
            goes_on |= await self._try_suspect()
            goes_on |= await self._aside.try_due()
            if self._membership.is_overloaded:
                break

    async def _handle_alone(self, id_: CommandId) -> bool:
        """Handle a command alone. False if there is no room for it now."""
        tried = False
        if self._room <= 0 and id_ not in self._urgent:
            return False

        async def take(connection: FencedTransaction, _slot: Slot | None, _limit: int) -> list[CommandRow]:
            nonlocal tried
            tried = True
            return await commands.take(connection, [id_])

        await self._handle_batch(take, needs_room=False)
        return tried

    def _say_it_waits(self, id_: CommandId, error: str, pause_s: float) -> None:
        row = next((row for row in self._failing if row.id == id_), None)
        log.warning(
            "command_waits",
            command=id_,
            type=row.type[:100] if row else None,
            workflow_instance=row.workflow_instance_id if row else None,
            error=error,
            tries_again_in_s=pause_s,
            so="it is left in its table, and all others go on",
        )

    def _room_made(self) -> None:
        if self._full:
            self._full = False
            self.wake.set()

    async def _try_suspect(self) -> bool:
        """Handle a group of suspect commands. Returns whether to continue at once.

        A group is retried until it is done, however often the database is unavailable: this master is alive. But
        commands for which there is no room are given back, since another master may have room.
        """
        if not (self._trying or self.suspect):
            return False
        room = self._room
        if room <= 0 or not self._membership.accepts:
            self._full = True
            await self._give_back()
            return False
        if not self._trying:
            async with self._life.writing() as connection:
                group = await suspect_commands.try_next(connection, self._life.me.epoch, room, self._aside.ids)
            self.suspect = bool(group)
            if not group:
                return False
            worst = group[0]
            log.warning("suspect_commands", count=len(group), deaths=worst.deaths, so=worst.consequence)
            if worst.is_the_culprit:
                return self._aside.add_hopeless(worst.id, f"{worst.deaths} masters died while they were at it")
            self._trying = [each.id for each in group]
        tried: list[CommandId] = []

        async def take(connection: FencedTransaction, _slot: Slot | None, limit: int) -> list[CommandRow]:
            tried[:] = self._trying[:limit]  # it is taken again if a plan was missing
            return await commands.take(connection, tried)

        await self._one_batch(take)
        self._trying = self._trying[len(tried) :]
        return bool(tried)

    async def _give_back(self) -> None:
        if self._trying:
            async with self._life.writing() as connection:
                await suspect_commands.give_back(connection, self._trying, self._life.me.epoch)
            self._trying = []

    async def _one_batch(self, take: Take) -> bool:
        """Handle a batch, or quarantine its commands if one of them may be why it fails. Returns whether to look again
        at once."""
        try:
            return await self._handle_batch(take, needs_room=take != self._take_urgent)
        except (BadData, LockTaken) as error:
            if not self._aside.add_failed([row.id for row in self._failing], error):
                raise
            self._urgent |= {row.id for row in self._failing if row.type in URGENT}
            self._urgent &= set(self._aside.ids)
            count = len(self._failing)
            log.warning("commands_quarantined", count=count, error=str(error), so="each is tried alone")
            return False

    async def _handle_batch(self, take: Take, *, needs_room: bool) -> bool:
        """One transaction, see below."""
        plans, database = self._driver.plans, self._life.database
        with self._driver.settled.changing():
            return await plans.with_plans(database, lambda fetched: self._handle_with(fetched, take, needs_room))

    async def _handle_with(self, plans: Fetched, take: Take, needs_room: bool) -> bool:
        """One transaction. Returns whether to look again at once."""
        self._failing = []
        limit = min(self._batch.size, self._room) if needs_room else self._batch.size
        if limit <= 0:
            self._full = True
            return False
        slot = self._membership.slot
        if not self._membership.accepts:
            return False  # others steal what they do not take by residue
        if self._membership.is_overloaded:
            limit = min(limit, OVERLOADED_BATCH)
        began_s = boottime_s()
        work: BatchWork | None = None
        try:
            async with self._life.writing() as connection:
                rows = await take(connection, slot, limit)
                if not rows:
                    return False
                self._failing = rows
                work = BatchWork(connection, Writes(plans))
                with blaming_the_data():
                    await self._handle(rows, work)
                    await commands.record(connection, work.outcomes, self._life.me.epoch, slot)
                    await self._driver.flush(connection, work.writes)
        except BaseException:
            if work is not None:
                self._driver.runs.forget(runnable.instance.id for runnable in work.held)
            raise
        self._driver.written(work.writes)
        self._tell(work.outcomes, slot, boottime_s() - began_s)
        self._batch.took(len(rows), boottime_s() - began_s)
        return len(rows) == limit

    @property
    def _room(self) -> int:
        """How many more runs it may begin."""
        return self._settings.max_running_workflows - self._driver.runs.active

    async def _take_urgent(self, connection: FencedTransaction, slot: Slot | None, limit: int) -> list[CommandRow]:
        """Commands that need no room: those that halt a run may free some, and failed-over runs had room before."""
        self._full = True
        settings, aside = self._settings, self._aside.ids
        return await commands.claim_urgent(connection, slot, settings.steal_after, limit, settings.id_step, aside)

    async def _take(self, connection: FencedTransaction, slot: Slot | None, limit: int) -> list[CommandRow]:
        rows: list[CommandRow] = []
        self._turn += 1
        by_age_first = self._turn % BY_AGE_EVERY == 0
        if by_age_first:
            rows = await self._take_aged(connection, limit)
        if slot and len(rows) < limit:
            settings, room = self._settings, limit - len(rows)
            rows += await commands.claim(connection, slot, room, settings.id_step, self._aside.ids)
        if not by_age_first:
            rows += await self._take_aged(connection, limit - len(rows))
        return rows

    async def _take_aged(self, connection: FencedTransaction, limit: int) -> list[CommandRow]:
        if not self.aged or limit <= 0:
            return []
        aged = await commands.steal(connection, self._settings.steal_after, limit, self._aside.ids)
        self.aged = bool(aged)
        return aged

    async def _handle(self, rows: Sequence[CommandRow], work: BatchWork) -> None:
        """Handle the commands kind by kind, since each kind is handled as a set."""
        starts: list[tuple[CommandRow, Start]] = []
        recovers: list[tuple[CommandRow, RecoverToleranceFault]] = []
        lines: list[tuple[CommandRow, RecoverSerialWait]] = []
        moves: list[tuple[CommandRow, Move]] = []
        for row in rows:
            try:
                command = read_command(row)
            except Refused as error:
                work.refuse(row, str(error))
                await tell_parent(work.connection, row, str(error))
                continue
            match command:
                case Start():
                    starts.append((row, command))
                case RecoverToleranceFault():
                    recovers.append((row, command))
                case RecoverSerialWait():
                    lines.append((row, command))
                case Move():
                    moves.append((row, command))
        to_start = await self._starter.read(starts, work)
        # All lines at once, before any row of a run is held.
        codes = to_start.serial | {command.workflow_code for _, command in lines}
        going_on = {move.workflow_instance_id for _, move in moves if move.type not in HALTING}
        if going_on:
            codes |= await control.serial_codes(work.connection, going_on)
        work.lines = await hold(work.connection, codes)
        if moves:  # before the failovers: one that is to be halted must not begin anything first
            await self._mover.handle(moves, work)
        if recovers:
            await claim_failover(recovers, work, self._life.me.epoch, self._driver)
        if lines:
            await self._mover.next_in_line(lines, work)
        if starts:
            await self._starter.handle(starts, to_start, work)

    async def _refuse(self, id_: CommandId, error: str) -> None:
        """A command that fails alone, with an unexpected error, is moved to the error table unchanged."""
        async with self._life.writing() as connection:
            self._failing = await commands.take(connection, [id_])
            for row in self._failing:
                with blaming_the_data():
                    await refuse_alone(connection, row, error, self._life.me.epoch, self._membership.slot)

    def _tell(self, outcomes: Sequence[Outcome], slot: Slot | None, took_s: float) -> None:
        step = self._settings.id_step
        stolen = sum(1 for outcome in outcomes if slot is None or not slot.owns(outcome.row.id, step))
        errors = sum(1 for outcome in outcomes if outcome.reason is not None)
        log.info("commands_claimed", count=len(outcomes), slot=str(slot), errors=errors, took_ms=round(took_s * 1000))
        if stolen:
            self.stolen += stolen
            log.warning(
                "commands_taken_by_age", count=stolen, ever=self.stolen,
                so="they waited too long in slots of others; if this goes on, see docs/slots.md",
            )  # fmt: skip
