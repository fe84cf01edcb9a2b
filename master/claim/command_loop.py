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
from collections import deque
from collections.abc import Sequence
from functools import partial

import structlog

from dao.cluster.went_back import KNOWN_MAX, Known
from dao.commands import commands
from dao.commands.commands import Outcome
from dao.postgres.errors import BadData, LockTaken
from dao.runs import control
from master.claim.batch import AdaptiveBatch
from master.claim.batch_work import BatchWork
from master.claim.control_commands import Mover
from master.claim.failover_commands import claim_failover
from master.claim.quarantine import Quarantine
from master.claim.rejected_commands import refuse_alone
from master.claim.serial import hold
from master.claim.sources import OneCommand, SlotSource, Source, SuspectSource, UrgentSource
from master.claim.start_commands import Starter, notify_parent
from master.claim.to_start import read
from master.drive.driver import Driver
from master.membership.membership import Membership
from metrics import master as metrics
from model.blame import Verdict
from model.cluster.master_settings import MasterSettings
from model.cluster.slots import Slot
from model.errors import Refused
from model.ids import CommandId, WorkflowInstanceId
from model.runs.command_moves import HALTING, URGENT, CommandType
from model.runs.commands import CommandRow, Move, RecoverSerialWait, RecoverToleranceFault, Start, read_command
from node.confirmed_ids import ConfirmedIds
from node.life import Life
from node.write_loop import blaming_the_data, run_rounds
from registry.clock import boottime_s

log = structlog.get_logger()

OVERLOADED_BATCH = 50
"""The batch size of an overloaded master that is alone, or whose peers are all overloaded too. It polls at least every
`look_every`: more slowly than usual, but it never stops."""


class CommandLoop:
    """Takes the commands of this master's slot, and steals those of any slot that have waited too long.

    `wake` is set when there may be commands, or room for them.
    """

    def __init__(
        self, life: Life, membership: Membership, driver: Driver, settings: MasterSettings, wake: asyncio.Event
    ) -> None:
        self.wake = wake
        self._stolen = 0
        """Stolen commands so far; should stay 0."""
        self._life = life
        self._membership = membership
        self._driver = driver
        self._settings = settings
        self._batch = AdaptiveBatch(settings.batch_max)
        self._quarantine: Quarantine[CommandId] = Quarantine(
            self.wake,
            self._handle_alone,
            self._refuse,
            self._log_quarantined,
            kind=lambda id_: row.type if (row := self._quarantined.get(id_)) else None,
            decide=self._is_to_blame,
        )
        self._quarantined: dict[CommandId, CommandRow] = {}
        """The rows of quarantined commands."""
        self._slot = SlotSource(settings, lambda: self._quarantine.ids)
        self._urgent = UrgentSource(settings, lambda: self._quarantine.ids)
        self._suspects = SuspectSource(life, lambda: self._quarantine.ids)
        self._confirmed: deque[WorkflowInstanceId] = deque(maxlen=KNOWN_MAX)
        """The last runs that were begun or changed."""
        self._lately = ConfirmedIds[WorkflowInstanceId](life)
        """Those of them that no beat covers yet."""
        self._starter = Starter(life.me.epoch, driver)
        self._mover = Mover(life.me.epoch, driver)

    def notice(self, *, aged: bool, suspect: bool) -> None:
        """Take aged or suspect commands of any slot from now on, because there are some."""
        self._slot.any_aged |= aged
        self._suspects.any_waits |= suspect
        if aged or self._suspects.any_waits:
            self.wake.set()

    async def known(self) -> Known:
        """Confirmed runs: those driven now, whose rows are never deleted, and those begun recently."""
        confirmed = set(self._confirmed)
        driven = confirmed - self._driver.runs.not_held(confirmed)
        return Known(runs=sorted({*driven, *self._lately}, reverse=True), begun=list(self._confirmed))

    async def run(self) -> None:
        """Claim until cancelled, once it is known which masters died. Raises `Fenced`."""
        await self._membership.doubts.over.wait()
        await run_rounds(
            "claim",
            self.wake,
            self._catch_up,
            self._life,
            shrink=self._batch.failed,
            read_again=self._driver.reload,
        )

    @property
    def _room(self) -> int:
        """How many more runs it may begin. Without room, the loop is woken when there is some."""
        room = self._settings.max_running_workflows - self._driver.runs.active
        if room <= 0:
            self._driver.runs.want_room()
        return room

    async def _catch_up(self) -> None:
        goes_on = True
        while goes_on:  # in turn, so that suspect and quarantined commands do not wait for the end of a stream
            goes_on = await self._one_batch(self._slot if self._room > 0 else self._urgent)
            goes_on |= await self._try_suspects()
            goes_on |= await self._quarantine.try_due()
            if self._membership.is_overloaded:
                break

    async def _try_suspects(self) -> bool:
        """Handle a group of suspect commands. Returns whether to continue at once."""
        if not self._suspects.has_any():
            return False
        room = self._room
        if room <= 0 or not self._membership.accepts:
            await self._suspects.give_back()
            return False
        culprit = await self._suspects.next_group(room)
        if culprit is not None:
            return self._quarantine.add_hopeless(culprit.id, f"{culprit.deaths} masters died while they were at it")
        if not self._suspects.has_any():
            return False
        await self._one_batch(self._suspects)
        return self._suspects.handled()

    async def _handle_alone(self, id_: CommandId) -> bool:
        """Handle a command alone. False if there is no room for it now."""
        row = self._quarantined.get(id_)
        if self._room <= 0 and (row is None or row.type not in URGENT):
            return False
        source = OneCommand(id_)
        await self._handle_batch(source)
        return source.was_taken

    async def _is_to_blame(self, id_: CommandId, verdict: Verdict) -> bool:
        """Whether a command that failed alone is refused: not while another waits, perhaps at another master, that may
        fail in the same way."""
        if verdict is Verdict.TO_BLAME:
            return True
        async with self._life.database.reading() as connection:
            if await commands.handled_before(connection, id_) is not None:
                return True
            return verdict is Verdict.ONLY and not await commands.any_but(connection, id_)

    def _log_quarantined(self, id_: CommandId, error: str, pause_s: float) -> None:
        row = self._quarantined.get(id_)
        log.warning(
            "command_waits",
            command=id_,
            type=row.type[:100] if row else None,
            workflow_instance=row.workflow_instance_id if row else None,
            error=error,
            tries_again_in_s=pause_s,
            so="it stays in its table; all others continue",
        )

    async def _one_batch(self, source: Source) -> bool:
        """Handle a batch, or quarantine its commands if one may be why it fails. Returns whether to continue at
        once."""
        try:
            return await self._handle_batch(source)
        except (BadData, LockTaken) as error:
            rows: Sequence[CommandRow] = error.suspects
            if not self._quarantine.add_failed([row.id for row in rows], error):
                raise
            known = {**self._quarantined, **{row.id: row for row in rows}}
            self._quarantined = {id_: known[id_] for id_ in self._quarantine.ids if id_ in known}
            log.warning("commands_quarantined", count=len(rows), error=str(error), so="each is tried alone")
            return False

    async def _handle_batch(self, source: Source) -> bool:
        """Handle a batch in one transaction. Returns whether to continue at once."""
        began_s = boottime_s()
        outcomes, slot, is_full = await self._driver.transactions.run(BatchWork, partial(self._take, source))
        if outcomes:
            # One that a refused command named may be about to be deleted, for its age.
            confirmed = [each.instance for each in outcomes if each.instance is not None and each.reason is None]
            self._confirmed.extend(confirmed)
            self._lately.add(confirmed)
            self._log(outcomes, slot, boottime_s() - began_s)
            self._batch.took(len(outcomes), boottime_s() - began_s)
            metrics.claim_seconds.observe(boottime_s() - began_s)
            self._quarantine.others_were_handled(each.row.type for each in outcomes if each.reason is None)
        return is_full

    async def _take(self, source: Source, work: BatchWork) -> tuple[Sequence[Outcome], Slot | None, bool]:
        """Returns the outcomes, the slot, and whether the batch was full."""
        slot, limit = self._membership.slot, self._batch.size
        if source.needs_room:
            limit = min(limit, self._room)
        if self._membership.is_overloaded:
            limit = min(limit, OVERLOADED_BATCH)
        if limit <= 0 or not self._membership.accepts:
            return (), slot, False  # others steal what they do not take by residue
        work.suspects = rows = await source.take(work.connection, slot, limit)
        if rows:
            await self._handle(rows, work)
            await commands.record(work.connection, work.outcomes, self._life.me.epoch, slot)
        return work.outcomes, slot, len(rows) == limit

    async def _handle(self, rows: Sequence[CommandRow], work: BatchWork) -> None:
        """Handle the commands kind by kind: each kind is handled as a set."""
        starts: list[tuple[CommandRow, Start]] = []
        recovers: list[tuple[CommandRow, RecoverToleranceFault]] = []
        lines: list[tuple[CommandRow, RecoverSerialWait]] = []
        moves: list[tuple[CommandRow, Move]] = []
        for row in rows:
            try:
                command = read_command(row)
            except Refused as error:
                work.refuse(row, str(error))
                await notify_parent(work.connection, row, str(error))
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
        commands_to_start = [command for _, command in starts]
        to_start = await read(work.connection, commands_to_start, self._driver.plans, work.writes.plans)
        # All lines at once, before any row of a run is held.
        going_on = {move.workflow_instance_id for _, move in moves if move.type not in HALTING}
        moved = await control.serial_lines(work.connection, going_on) if going_on else set()
        codes = to_start.serial | {command.workflow_code for _, command in lines}
        work.lines = await hold(work.connection, codes | {line.workflow_code for line in moved}, moved)
        called = [(row, move) for row, move in moves if move.type is CommandType.RECOVER_SERIAL_WAIT]
        moves = [each for each in moves if each not in called]
        work.starts_to_come = starts
        if moves:  # before the failovers: one that is to be halted must not begin anything first
            await self._mover.handle(moves, work)
        if recovers:
            await claim_failover(recovers, work, self._life.me.epoch, self._driver)
        work.starts_to_come = []
        if starts:
            await self._starter.handle(starts, to_start, work)
        if called:  # after the starts: they are no longer in the command table, and may be before these in a line
            await self._mover.handle(called, work)
        if lines:
            await self._mover.next_in_line(lines, work)

    async def _refuse(self, id_: CommandId, error: str) -> None:
        """Move a command that fails alone with an unexpected error to the error table, unchanged."""
        async with self._life.writing() as connection:
            for row in await commands.take(connection, [id_]):
                self._quarantined[id_] = row
                with blaming_the_data():
                    await refuse_alone(connection, row, error, self._life.me.epoch, self._membership.slot)

    def _log(self, outcomes: Sequence[Outcome], slot: Slot | None, took_s: float) -> None:
        step = self._settings.id_step
        stolen = sum(1 for outcome in outcomes if slot is None or not slot.owns(outcome.row.id, step))
        errors = sum(1 for outcome in outcomes if outcome.reason is not None)
        metrics.commands_claimed.inc(len(outcomes))
        metrics.commands_refused.inc(errors)
        metrics.commands_stolen.inc(stolen)
        log.info("commands_claimed", count=len(outcomes), slot=str(slot), errors=errors, took_ms=round(took_s * 1000))
        if stolen:
            self._stolen += stolen
            log.warning(
                "commands_taken_by_age", count=stolen, ever=self._stolen,
                so="they waited too long in the slots of other masters; if this persists, see docs/concepts/slots.md",
            )  # fmt: skip
