"""The shell around all runnables of a master: feeds them events, writes what they want, forgets what went wrong.

Memory is a copy of rows. Whenever a transaction fails, the runnables that it touched are dropped and made again from
their rows; nothing is ever repaired in memory. If what is in its way may concern one of them alone (a row that is not
as memory has it, a stranger's lock, an error that nobody foresaw), each that may be meant is tried alone: one that
cannot be driven is given up, and one that cannot even be given up waits aside, with its events, while all others go on.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import timedelta
from functools import partial

import structlog
from sqlalchemy.ext.asyncio import AsyncConnection

from dao import children, dependencies, nodes, task_events, task_instances, workflow_instances
from dao.database import Database
from dao.dependencies import Happened
from dao.errors import BadData, LockTaken
from dao.nodes import Me
from dao.task_events import Unreadable
from dao.workflow_instances import OwnershipLost
from master.aside import SetAside
from master.batch import AdaptiveBatch
from master.events import Adopted, Child, Event, HaltAsked, TookTooLong, event_of
from master.handling import handle
from master.lengths import Lengths
from master.plan import Plan
from master.plans import Fetched, PlanKey, Plans
from master.room import Delay, Room
from master.runnable import WorkflowRunnable
from master.writes import Writes
from model.errors import Refused, ShoalError
from model.ids import TaskCode, WorkflowInstanceId
from model.instances import ChildEnd, TaskEnd, WorkflowInstance
from model.instances import HaltAsked as HaltTold
from model.states import TaskState, WorkflowState
from registry.contact import boottime_s
from registry.life import Life
from registry.rounds import blaming_what_is_held, run_rounds

log = structlog.get_logger()

LENGTH_PAUSE_S = 10.0
"""Until a run that took too long and could not be ended is tried again."""


class Driver:
    """Drives the workflow instances that this master owns."""

    def __init__(
        self, life: Life, batch_max: int, look: asyncio.Event, *, longest_run: timedelta | None = None
    ) -> None:
        """`look` is set when attempts were written that wait for a time."""
        self.wake = asyncio.Event()
        """Set when there may be events, or something to reload."""
        self.plans = Plans()
        self._look = look
        self._life = life
        self._database: Database = life.database
        self._me: Me = life.me
        self._batch = AdaptiveBatch(batch_max)
        self._failing: Collection[WorkflowInstanceId] = ()
        self._taken_over: set[WorkflowInstanceId] = set()
        self._runnables: dict[WorkflowInstanceId, WorkflowRunnable] = {}
        self._lengths = Lengths(self.wake, longest_run)
        self._room = Room()
        self.room_made: Callable[[], None] = lambda: None
        """Called when instances have ended, or wait, so that there is room for others."""
        self.dependents_wait = False
        """Whether anybody is to be told of ends, since DEPENDENT tasks wait for some."""
        self.dependents_began: Callable[[Iterable[WorkflowInstanceId]], None] = lambda _: None
        """Called with own runs of which DEPENDENT tasks may have begun to wait."""
        self._reload = False
        self._again: set[WorkflowInstanceId] = set()
        self._aside: SetAside[WorkflowInstanceId] = SetAside(self.wake, self._drive_alone, self._give_up, _say_it_waits)

    @property
    def running(self) -> int:
        """How many instances are driven now."""
        return len(self._runnables)

    @property
    def active(self) -> int:
        """How many of them take up room."""
        self._room.come_due(boottime_s(), self._runnables)
        return len(self._runnables) - len(self._room.waiting)

    def held(self) -> dict[WorkflowInstanceId, WorkflowRunnable]:
        """All that is driven now, as it is at this moment."""
        return dict(self._runnables)

    def hold(self, runnables: Iterable[WorkflowRunnable]) -> None:
        """Drive these from now on. Called before the transaction that makes them commits, so that no event of theirs
        can come earlier; `forget` them if it does not."""
        for runnable in runnables:
            id_ = runnable.instance.id
            self._runnables[id_] = runnable
            self._room.look(runnable)
            self._lengths.watch(runnable)

    def forget(self, ids: Iterable[WorkflowInstanceId]) -> None:
        """Drop from memory: what has ended, or what may no longer be as the rows say."""
        before = len(self._runnables)
        for id_ in ids:
            self._runnables.pop(id_, None)
            self._room.forget(id_)
            self._lengths.forget(id_)
        if len(self._runnables) < before:
            self.room_made()

    def mind_takeovers(self, ids: Iterable[WorkflowInstanceId]) -> None:
        """These were taken over; what is held against them is forgotten when they get on."""
        self._taken_over.update(ids)

    def written(self, writes: Writes) -> None:
        """What follows from writes that are committed: forget what has ended, mind what waits."""
        self.forget(end.id for end in writes.ends)
        self._room.mind(writes.delays, boottime_s())
        touched = [self._runnables[id_] for id_ in writes.touched if id_ in self._runnables]
        if [runnable for runnable in touched if self._room.look(runnable)]:
            self.room_made()
        self._taken_over.difference_update(end.id for end in writes.ends)
        if writes.delays:
            self._look.set()
        if writes.known:
            self.wake.set()
        if writes.dependents:
            self.dependents_wait = True
            self.dependents_began(writes.dependents)

    async def flush(self, connection: AsyncConnection, writes: Writes) -> None:
        """Write all of it, and tell who awaits what ended. Raises `OwnershipLost`."""
        await writes.flush(connection, self._me.epoch)
        if self.dependents_wait:
            ended = [self._runnables[end.id].instance for end in writes.ends if end.id in self._runnables]
            happened = [(instance, None) for instance in ended] + writes.succeeded
            await dependencies.tell(
                connection,
                [
                    Happened(instance.workflow_code, instance.schedule_time, task)
                    for instance, task in happened
                    if instance.schedule_time is not None and not instance.dry_run
                ],
            )

    def reload(self) -> None:
        """Read again, soon, whatever is ours by the rows and not in memory."""
        self._reload = True
        self.wake.set()

    def drive_again(self, ids: Iterable[WorkflowInstanceId]) -> None:
        """Drop these, soon, and make them again from their rows, if they are ours by those."""
        self._again.update(ids)
        self.wake.set()

    def is_about_to_drive_again(self, id_: WorkflowInstanceId) -> bool:
        """Whether that was asked for, or that it is given up, and has not been done yet; or it is set aside."""
        return id_ in self._again or id_ in self._aside

    def give_up(self, id_: WorkflowInstanceId, why: str) -> None:
        """End an own instance, soon, as a FAILURE; `why` goes on after "it could not be driven: "."""
        if self._aside.add_hopeless(id_, why):
            self.wake.set()

    async def run(self) -> None:
        """Consume events until cancelled. Raises `Fenced`."""
        await run_rounds(
            "advance",
            self.wake,
            self._catch_up,
            self._life,
            shrink=self._batch.failed,
            read_again=self.reload,
        )

    async def _catch_up(self) -> None:
        if self._again:
            again = frozenset(self._again)
            self.forget(again)
            await self._adopt_all(again)
            self._again -= again
        if self._reload:
            self._reload = False
            try:
                await self._adopt_missing()
            except BaseException:
                self._reload = True
                raise
        if rung := self._lengths.take():
            await self._mind_lengths(rung)
        goes_on = True
        while goes_on:  # in turn, so that what is aside does not wait for the end of a stream of events
            goes_on = await self._one_batch()
            goes_on |= await self._aside.try_due()

    async def _mind_lengths(self, ids: Collection[WorkflowInstanceId]) -> None:
        """Warn of these runs, or end them, if they have run for too long by the database's clock."""
        try:
            async with self._database.reading() as connection:
                ran_s = await workflow_instances.ran_s(connection, list(ids), self._me.epoch)
            for id_, seconds in ran_s.items():
                runnable = self._runnables.get(id_)
                if runnable is not None:
                    await self._mind_length(runnable, seconds)
        except BaseException:
            self.drive_again(ids)  # which has their timers ring again
            raise

    async def _mind_length(self, runnable: WorkflowRunnable, ran_s: float) -> None:
        id_, limits = runnable.instance.id, self._lengths.of(runnable)
        self._lengths.ring_at(id_, limits.next_after(ran_s), ran_s)
        if limits.warn_s is not None and ran_s >= limits.warn_s:
            minutes = runnable.plan.spec.timeout_minutes
            log.warning("workflow_takes_too_long", workflow_instance=id_, timeout_minutes=minutes)
        if limits.fail_s is None or ran_s < limits.fail_s:
            return
        log.warning("workflow_took_too_long", workflow_instance=id_, reason=limits.why, so="it ends as FAILURE")
        writes = Writes()
        try:
            async with self._database.writing() as connection:
                await nodes.hold_alive(connection, self._me)
                with blaming_what_is_held():
                    await self.tell(runnable, TookTooLong(limits.why), writes)
                    await self.flush(connection, writes)
        except (BadData, LockTaken) as error:  # of this run alone
            self.forget([id_])
            log.warning("workflow_not_ended_yet", workflow_instance=id_, error=str(error), so="it is tried again")
            asyncio.get_running_loop().call_later(LENGTH_PAUSE_S, self.drive_again, [id_])
            return
        self.written(writes)

    async def _one_batch(self) -> bool:
        """Take a batch of events, or set its instances aside. Whether it is worth to look again at once."""
        size, began_s = self._batch.size, boottime_s()
        try:
            count = await self._advance(size)
        except (BadData, LockTaken) as error:
            if not self._set_aside(error):
                raise
            return isinstance(error, OwnershipLost)  # the others of the batch are as they should be
        self._batch.took(count, boottime_s() - began_s)
        return count == size

    def _set_aside(self, error: ShoalError) -> bool:
        """Have each instance that may be why something failed tried alone. False if that is to be tried again in
        smaller parts."""
        failing = self._failing
        if isinstance(error, OwnershipLost):
            failing = error.ids
            if not self._aside.add_named(failing):
                return False
        elif not self._aside.add_failed(failing, error):
            return False
        log.warning("workflows_set_aside", count=len(failing), error=str(error), so="each is tried alone")
        return True

    async def _drive_alone(self, id_: WorkflowInstanceId) -> bool:
        """Drive one instance on, from its rows. There is always room for it."""
        await self._advance(self._batch.size, only=id_)
        return True

    async def _advance(self, size: int, only: WorkflowInstanceId | None = None) -> int:
        """One transaction, see below."""
        return await self.plans.with_plans(self._database, lambda plans: self._advance_with(plans, size, only))

    async def _advance_with(self, plans: Fetched, size: int, only: WorkflowInstanceId | None) -> int:
        """One transaction: up to `size` events, and everything that follows from them. How many there were.

        With `only`, those of that instance, which is made from its rows first; else of all that are not aside.
        """
        touched: set[WorkflowInstanceId] = set()
        settled: set[WorkflowInstanceId] = set()
        unreadable: dict[WorkflowInstanceId, str] = {}
        writes = Writes(plans)
        self._failing = ()
        try:
            async with self._database.writing() as connection:
                await nodes.hold_alive(connection, self._me)
                aside = self._aside.ids if only is None else ()
                events = await task_events.consume(connection, self._me.epoch, size, aside=aside, only=only)
                touched = {event.workflow_instance_id for event in events} if only is None else {only}
                if not touched:
                    return 0
                with blaming_what_is_held():
                    await self._adopt(connection, touched - self._runnables.keys(), writes)
                    for event in events:
                        if isinstance(event, Unreadable):
                            unreadable[event.workflow_instance_id] = event.what
                        else:
                            await self._feed(event, writes)
                    await self.flush(connection, writes)
                settled = touched & self._taken_over
                if settled:
                    await workflow_instances.settle(connection, list(settled), self._me.epoch)
        except BaseException:
            self._failing = touched
            self.forget(touched)
            raise
        self._taken_over -= settled
        self.written(writes)
        for id_, what in unreadable.items():
            log.warning("event_unreadable", workflow_instance=id_, error=what, so="the run is made anew from its rows")
        if unreadable:
            self.drive_again(unreadable)
        return len(events)

    async def _feed(self, told: TaskEnd | ChildEnd | HaltTold, writes: Writes) -> None:
        runnable = self._runnables.get(told.workflow_instance_id)
        if runnable is not None:  # else it has ended: the event tells what the rows told before
            await self.tell(runnable, event_of(told), writes)
            if isinstance(told, TaskEnd) and told.state is TaskState.SUCCESS:
                writes.note_success(runnable, told.code)

    async def tell(self, runnable: WorkflowRunnable, event: Event, writes: Writes) -> None:
        """Let a runnable handle an event. One that cannot ends as FAILURE: it must not hold up the others."""
        try:
            await handle(runnable, event, writes)
        except Refused as error:
            writes.give_up(runnable.instance.id, str(error))
        except AssertionError as bug:
            log.exception("runnable_broken", workflow_instance=runnable.instance.id)
            reason = f"Shoal found itself in a state that must not be ({bug}); please report it"
            writes.give_up(runnable.instance.id, reason)

    async def adopt(
        self,
        connection: AsyncConnection,
        instances: Sequence[WorkflowInstance],
        writes: Writes,
        resumes: Mapping[WorkflowInstanceId, frozenset[TaskCode]] | None = None,
    ) -> list[WorkflowRunnable]:
        """Make runnables of own instances from their rows, and hold them. One that cannot run ends as FAILURE.

        `resumes` are the tasks whose children go on instead of beginning anew.
        """
        if not instances:
            return []
        plans = self.plans.at_hand({_plan_key(each) for each in instances}, writes.plans)
        attempts = await task_instances.latest_attempts(connection, [instance.id for instance in instances])
        with_children = [
            each.id for each in instances if isinstance(known := plans[_plan_key(each)], Plan) and known.has_children
        ]
        below = await children.of(connection, with_children)
        adopted = []
        for instance in instances:
            plan = plans[_plan_key(instance)]
            if isinstance(plan, Refused):
                writes.give_up(instance.id, str(plan))
                continue
            runnable = WorkflowRunnable(instance, plan)
            rows = tuple(
                Child(row.parent.code, row.parent.attempt, row.parent.index, row.state, row.outputs)
                for row in below.get(instance.id, ())
            )
            again = (resumes or {}).get(instance.id, frozenset())
            await self.tell(runnable, Adopted(tuple(attempts[instance.id]), rows, again), writes)
            if plan.has_dependents:
                writes.dependents.add(instance.id)
            if instance.requested_state is not None:
                await self.tell(runnable, HaltAsked(instance.requested_state), writes)
            adopted.append(runnable)
            writes.delays += [
                Delay(instance.id, each.code, each.attempt, each.due_in_minutes)
                for each in attempts[instance.id]
                if each.due_in_minutes
            ]
        self.hold(adopted)
        return adopted

    async def _adopt(self, connection: AsyncConnection, ids: Collection[WorkflowInstanceId], writes: Writes) -> None:
        if ids:
            owned = await workflow_instances.read_owned(connection, list(ids), self._me.epoch)
            if handed_on := [each.id for each in owned if each.state is WorkflowState.FAILOVER]:
                await workflow_instances.take_back(connection, handed_on, self._me.epoch)
                owned = await workflow_instances.read_owned(connection, list(ids), self._me.epoch)
            await self.adopt(connection, owned, writes)

    async def _adopt_missing(self) -> None:
        """Bring memory and rows together: read what is ours and unknown, drop what is known and not ours."""
        async with self._database.reading() as connection:
            known = set(self._runnables)
            owned = await workflow_instances.owned(connection, self._me.epoch)
        self.forget(known - owned)
        self._taken_over &= owned
        if missing := owned - self._runnables.keys():
            log.info("reads_again", workflow_instances=len(missing))
            await self._adopt_all(missing)

    async def _adopt_all(self, wanted: Collection[WorkflowInstanceId]) -> None:
        """Make runnables of these, those that are ours, in batches."""
        missing = sorted(id_ for id_ in wanted if id_ not in self._aside)
        while missing:
            size, began_s = self._batch.size, boottime_s()
            ids, missing = missing[:size], missing[size:]
            try:
                await self.plans.with_plans(self._database, partial(self._adopt_with, ids=ids))
            except (BadData, LockTaken) as error:
                if not self._set_aside(error):
                    raise
                missing = sorted({*missing, *ids} - set(self._aside.ids))
                continue
            self._batch.took(len(ids), boottime_s() - began_s)

    async def _adopt_with(self, plans: Fetched, ids: Collection[WorkflowInstanceId]) -> None:
        """One transaction: make runnables of these."""
        writes = Writes(plans)
        self._failing = ()
        try:
            async with self._database.writing() as connection:
                await nodes.hold_alive(connection, self._me)
                self._failing = ids
                with blaming_what_is_held():
                    await self._adopt(connection, ids, writes)
                    await self.flush(connection, writes)
        except BaseException:
            self.forget(ids)
            raise
        self.written(writes)

    async def _give_up(self, id_: WorkflowInstanceId, error: str) -> None:
        """End an instance that cannot be driven as FAILURE: it must not hold up the others."""
        async with self._database.writing() as connection:
            await nodes.hold_alive(connection, self._me)
            with blaming_what_is_held():
                await task_events.forget(connection, [id_])
                await workflow_instances.take_back(connection, [id_], self._me.epoch)
                writes = Writes()
                for own in await workflow_instances.still_owned(connection, [id_], self._me.epoch):
                    writes.give_up(own, f"it could not be driven: {error}")
                await self.flush(connection, writes)
        self.forget([id_])
        log.error("workflow_given_up", workflow_instance=id_, error=error)


def _say_it_waits(id_: WorkflowInstanceId, error: str, pause_s: float) -> None:
    log.warning(
        "workflow_waits",
        workflow_instance=id_,
        error=error,
        tries_again_in_s=pause_s,
        so="it is left as it is, and all others go on",
    )


def _plan_key(instance: WorkflowInstance) -> PlanKey:
    return (instance.workflow_code, instance.workflow_version)
