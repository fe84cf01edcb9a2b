"""Commands out of the table, workflow instances into memory: one transaction a batch.

The transaction holds our licence to write, deletes the commands of our slot, makes or takes over instances, queues
their first tasks and records what became of each command. Nothing is in memory that is not committed, or it is
forgotten again. What is wrong with a command ends that command, in the error table; what is wrong with the world (a
lock, a lost connection) leaves all of them where they were.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence

import structlog
from sqlalchemy.ext.asyncio import AsyncConnection

from dao import commands, definitions, nodes, task_events, workflow_instances
from dao.commands import Outcome
from dao.errors import BadData
from dao.workflow_instances import TAKEOVERS_MAX, NewInstance
from master.batch import AdaptiveBatch
from master.driver import Driver
from master.membership import Membership
from master.plan import Plan
from master.runnable import Started, WorkflowRunnable
from master.settings import MasterSettings
from master.writes import Writes
from model.choices import ReleaseState
from model.commands import CommandRow, RecoverToleranceFault, Start, read_command
from model.errors import NotFound, Refused
from model.ids import CommandId, WorkflowInstanceId
from model.instances import WorkflowInstance
from model.nodes import Slot
from registry.contact import boottime_s
from registry.life import Life
from registry.rounds import blaming_what_is_held, run_rounds

log = structlog.get_logger()


class CommandLoop:
    """Takes the commands of this master's slot, and of any slot when they have waited too long."""

    def __init__(self, life: Life, membership: Membership, driver: Driver, settings: MasterSettings) -> None:
        self.wake = asyncio.Event()
        """Set when there may be commands."""
        self.aged = False
        """Set beside `wake` when some have waited too long, whosever they are."""
        self.stolen = 0
        """Commands taken by age so far; should stay 0."""
        self._life = life
        self._membership = membership
        self._driver = driver
        self._settings = settings
        self._batch = AdaptiveBatch(settings.batch_max)
        self._failing: list[CommandId] = []
        self._hopeless: tuple[CommandId, str] | None = None
        self._full = False
        driver.ended = self._room_made

    async def run(self) -> None:
        """Claim until cancelled. Raises `Fenced`."""
        await run_rounds(
            "claim",
            self.wake,
            self._catch_up,
            self._life,
            shrink=self._batch.failed,
            read_again=self._driver.reload,
            suspect=self._suspect,
        )

    async def _catch_up(self) -> None:
        if self._hopeless is not None:
            id_, reason = self._hopeless
            await self._refuse(id_, reason)
            self._hopeless = None
        while await self._claim_batch():
            pass

    def _suspect(self, error: BadData) -> None:
        """A batch failed by what is in it. One command alone is to blame; more are tried in smaller parts."""
        if len(self._failing) == 1:
            self._hopeless = (self._failing[0], str(error))

    def _room_made(self) -> None:
        if self._full:
            self._full = False
            self.wake.set()

    async def _claim_batch(self) -> bool:
        """One transaction. Whether it is worth to look again at once."""
        room = self._settings.max_running_workflows - self._driver.running
        limit = min(self._batch.size, room)
        if limit <= 0:
            self._full = True
            return False
        began_s = boottime_s()
        slot = self._membership.slot
        held: list[WorkflowRunnable] = []
        self._failing = []
        try:
            async with self._life.database.writing() as connection:
                await nodes.hold_alive(connection, self._life.me)
                rows = await self._take(connection, slot, limit)
                if not rows:
                    return False
                self._failing = [row.id for row in rows]
                writes = Writes()
                with blaming_what_is_held():
                    outcomes = await self._handle(connection, rows, writes, held)
                    await commands.record(connection, outcomes, self._life.me.epoch, slot)
                    await writes.flush(connection, self._life.me.epoch)
        except BaseException:
            self._driver.forget(runnable.instance.id for runnable in held)
            raise
        self._driver.written(writes)
        self._tell(outcomes, slot, boottime_s() - began_s)
        self._batch.took(len(rows), boottime_s() - began_s)
        return len(rows) == limit

    async def _take(self, connection: AsyncConnection, slot: Slot | None, limit: int) -> list[CommandRow]:
        rows = await commands.claim(connection, slot, limit, self._settings.id_step) if slot else []
        if self.aged and len(rows) < limit:
            aged = await commands.steal(connection, self._settings.steal_after, limit - len(rows))
            self.aged = bool(aged)
            rows += aged
        return rows

    async def _handle(
        self, connection: AsyncConnection, rows: Sequence[CommandRow], writes: Writes, held: list[WorkflowRunnable]
    ) -> list[Outcome]:
        """Do what each command asks for; `held` gets what the driver holds from now on."""
        starts: list[tuple[CommandRow, Start]] = []
        recovers: list[tuple[CommandRow, RecoverToleranceFault]] = []
        outcomes: list[Outcome] = []
        for row in rows:
            try:
                command = read_command(row)
            except Refused as error:
                outcomes.append(Outcome(row, None, str(error)))
                continue
            if isinstance(command, Start):
                starts.append((row, command))
            elif isinstance(command, RecoverToleranceFault):
                recovers.append((row, command))
        if starts:
            outcomes += await self._start(connection, starts, writes, held)
        if recovers:
            outcomes += await self._take_over(connection, recovers, writes, held)
        return outcomes

    async def _start(
        self,
        connection: AsyncConnection,
        starts: Sequence[tuple[CommandRow, Start]],
        writes: Writes,
        held: list[WorkflowRunnable],
    ) -> list[Outcome]:
        heads = await definitions.heads(connection, {command.workflow_code for _, command in starts})
        versions = {
            (head.code, command.workflow_version or head.version)
            for _, command in starts
            if (head := heads.get(command.workflow_code))
        }
        plans = await self._driver.plans.load(connection, versions)
        accepted: list[tuple[CommandRow, NewInstance, Plan]] = []
        outcomes: list[Outcome] = []
        for row, command in starts:
            try:
                head = heads.get(command.workflow_code)
                if head is None:
                    raise NotFound(f"there is no workflow with code {command.workflow_code}")
                if head.release_state is not ReleaseState.ONLINE:
                    raise Refused(f'workflow "{head.name}" is OFFLINE; put it ONLINE before starting it')
                plan = plans[head.code, command.workflow_version or head.version]
                if isinstance(plan, Refused):
                    raise plan
            except Refused as error:
                outcomes.append(Outcome(row, None, str(error)))
            else:
                accepted.append((row, _new_instance(command, plan), plan))
        if accepted:
            epoch = self._life.me.epoch
            ids = await workflow_instances.insert(connection, [new for _, new, _ in accepted], epoch)
            for row, new, plan in accepted:
                runnable = WorkflowRunnable(_instance(ids[row.id], new), plan)
                writes.add(runnable, runnable.handle(Started()))
                held.append(runnable)
                outcomes.append(Outcome(row, runnable.instance.id))
            self._driver.hold(held)
        return outcomes

    async def _take_over(
        self,
        connection: AsyncConnection,
        recovers: Sequence[tuple[CommandRow, RecoverToleranceFault]],
        writes: Writes,
        held: list[WorkflowRunnable],
    ) -> list[Outcome]:
        ids = [command.workflow_instance_id for _, command in recovers]
        taken = await workflow_instances.take_over(connection, ids, self._life.me.epoch)
        # What happened before is in the rows, which are read next; what comes later is read as an event.
        await task_events.forget(connection, list(taken))
        sound = [instance for instance, takeovers in taken.values() if takeovers < TAKEOVERS_MAX]
        held += await self._driver.adopt(connection, sound, writes)
        self._driver.mind_takeovers(instance.id for instance, takeovers in taken.values() if takeovers)
        outcomes = []
        for row, command in recovers:
            id_ = command.workflow_instance_id
            if id_ not in taken:
                outcomes.append(Outcome(row, id_, await workflow_instances.why_not_recovered(connection, id_)))
                continue
            if taken[id_][1] >= TAKEOVERS_MAX:
                reason = f"its masters died {TAKEOVERS_MAX} times while driving it; it may be what kills them"
                writes.give_up(id_, reason)
            outcomes.append(Outcome(row, id_))
        log.info("took_over", workflow_instances=len(taken))
        return outcomes

    async def _refuse(self, id_: CommandId, error: str) -> None:
        """A command that fails alone, in a way that no check foresaw, goes to the error table as it is."""
        async with self._life.database.writing() as connection:
            await nodes.hold_alive(connection, self._life.me)
            rows = await commands.take(connection, id_)
            if rows:
                outcomes = [Outcome(row, None, f"it could not be handled: {error}") for row in rows]
                await commands.record(connection, outcomes, self._life.me.epoch, self._membership.slot)

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


def _new_instance(command: Start, plan: Plan) -> NewInstance:
    spec = plan.spec
    return NewInstance(
        command.id,
        plan.workflow_code,
        plan.version,
        command.failure_strategy or spec.failure_strategy,
        command.priority or spec.priority,
        command.worker_group or spec.worker_group,
        json.dumps({**spec.params, **command.params}, ensure_ascii=False),
    )


def _instance(id_: WorkflowInstanceId, new: NewInstance) -> WorkflowInstance:
    return WorkflowInstance(
        id_, new.workflow_code, new.workflow_version, new.failure_strategy, new.priority, new.worker_group, new.params
    )
