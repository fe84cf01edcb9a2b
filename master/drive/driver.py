"""Drives all runnables of a master: feeds them events, writes what they want, and forgets those whose write failed.

Memory is a copy of rows. Whenever a transaction fails, the runnables that it touched are dropped and restored from
their rows; nothing is ever repaired in memory. If the cause may concern one run alone (a row that differs from memory,
a lock of another session, an unexpected error), each run that may be meant is tried alone. One that cannot be driven is
given up, and one that cannot even be given up goes into quarantine with its events, while all others go on.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterable
from datetime import timedelta
from functools import partial

import structlog

from dao.cluster.nodes import Me
from dao.postgres.database import Database, FencedTransaction
from dao.postgres.errors import BadData, LockTaken
from dao.runs import dependencies, workflow_instances
from dao.runs.dependencies import Happened
from dao.runs.workflow_instances import OwnershipLost
from dao.tasks import task_events
from dao.tasks.task_events import Unreadable
from master.claim.batch import AdaptiveBatch
from master.claim.quarantine import Quarantine
from master.drive.events import TookTooLong, event_of
from master.drive.handling import tell
from master.drive.held_runs import HeldRuns
from master.drive.plans import Fetched, Plans
from master.drive.restorer import Restorer
from master.drive.runnable import WorkflowRunnable
from master.drive.settled import Settled
from master.drive.writes import Writes
from model.errors import ShoalError
from model.ids import WorkflowInstanceId
from model.instances import ChildEnd, TaskEnd
from model.instances import HaltAsked as HaltTold
from model.states import TaskState
from node.life import Life
from node.write_loop import blaming_the_data, run_rounds
from registry.clock import boottime_s

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
        self.settled = Settled()
        self._look = look
        self._life = life
        self._database: Database = life.database
        self._me: Me = life.me
        self._batch = AdaptiveBatch(batch_max)
        self._failing: Collection[WorkflowInstanceId] = ()
        self.runs = HeldRuns(self.wake, longest_run)
        self.restorer = Restorer(life.me, self.plans, self.runs)
        self.dependents_wait = False
        """Whether anybody is to be told of ends, since DEPENDENT tasks wait for some."""
        self.dependents_began: Callable[[Iterable[WorkflowInstanceId]], None] = lambda _: None
        """Called with own runs of which DEPENDENT tasks may have begun to wait."""
        self._reload: int | None = None
        """Asked for, when so many outcomes had been unknown."""
        self._again: set[WorkflowInstanceId] = set()
        self._aside: Quarantine[WorkflowInstanceId] = Quarantine(
            self.wake, self._drive_alone, self._give_up, _say_it_waits
        )

    def written(self, writes: Writes) -> None:
        """What follows from writes that are committed: forget what has ended, mind what waits."""
        self.runs.forget(end.id for end in writes.ends)
        self.runs.wrote(writes.touched, writes.delays)
        self.runs.failed_over.difference_update(end.id for end in writes.ends)
        if writes.delays:
            self._look.set()
        if writes.known:
            self.wake.set()
        if writes.dependents:
            self.dependents_wait = True
            self.dependents_began(writes.dependents)

    async def flush(self, connection: FencedTransaction, writes: Writes) -> None:
        """Write all of it, and tell who awaits what ended. Raises `OwnershipLost`."""
        await writes.flush(connection, self._me.epoch)
        if self.dependents_wait:
            ended = [run.instance for end in writes.ends if (run := self.runs.get(end.id)) is not None]
            happened = [(instance, None) for instance in ended] + writes.succeeded
            await dependencies.notify_masters(
                connection,
                [
                    Happened(instance.workflow_code, instance.schedule_time, task)
                    for instance, task in happened
                    if instance.schedule_time is not None and not instance.dry_run
                ],
            )

    def reload(self) -> None:
        """Read again, soon, whatever is ours by the rows and not in memory."""
        self._reload = self.settled.unknown
        self.wake.set()

    def drive_again(self, ids: Iterable[WorkflowInstanceId]) -> None:
        """Drop these, soon, and make them again from their rows, if they are ours by those."""
        self._again.update(ids)
        self.wake.set()

    def is_about_to_drive_again(self, id_: WorkflowInstanceId) -> bool:
        """Whether that was asked for, or that it is given up, and has not been done yet; or it is quarantined."""
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
            self.runs.forget(again)
            await self._restore_all(again)
            self._again -= again
        if (unknown := self._reload) is not None:
            self._reload = None
            try:
                await self._restore_missing()
            except BaseException:
                self._reload = max(unknown, self._reload or 0)
                raise
            self.settled.found_out(unknown)
        if rung := self.runs.lengths.take():
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
                runnable = self.runs.get(id_)
                if runnable is not None:
                    with self.settled.changing():
                        await self._mind_length(runnable, seconds)
        except BaseException:
            self.drive_again(ids)  # which has their timers ring again
            raise

    async def _mind_length(self, runnable: WorkflowRunnable, ran_s: float) -> None:
        id_, limits = runnable.instance.id, self.runs.lengths.of(runnable)
        self.runs.lengths.ring_at(id_, limits.next_after(ran_s), ran_s)
        if limits.warn_s is not None and ran_s >= limits.warn_s:
            minutes = runnable.plan.spec.timeout_minutes
            log.warning("workflow_takes_too_long", workflow_instance=id_, timeout_minutes=minutes)
        if limits.fail_s is None or ran_s < limits.fail_s:
            return
        log.warning("workflow_took_too_long", workflow_instance=id_, reason=limits.why, so="it ends as FAILURE")
        writes = Writes()
        try:
            async with self._life.writing() as connection:
                with blaming_the_data():
                    await tell(runnable, TookTooLong(limits.why), writes)
                    await self.flush(connection, writes)
        except (BadData, LockTaken) as error:  # of this run alone
            self.runs.forget([id_])
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
            if not self._put_in_quarantine(error):
                raise
            return isinstance(error, OwnershipLost)  # the others of the batch are as they should be
        self._batch.took(count, boottime_s() - began_s)
        return count == size

    def _put_in_quarantine(self, error: ShoalError) -> bool:
        """Have each instance that may be why something failed tried alone. False if that is to be tried again in
        smaller parts."""
        failing = self._failing
        if isinstance(error, OwnershipLost):
            failing = error.ids
            if not self._aside.add_named(failing):
                return False
        elif not self._aside.add_failed(failing, error):
            return False
        log.warning("workflows_quarantined", count=len(failing), error=str(error), so="each is tried alone")
        return True

    async def _drive_alone(self, id_: WorkflowInstanceId) -> bool:
        """Drive one instance on, from its rows. There is always room for it."""
        await self._advance(self._batch.size, only=id_)
        return True

    async def _advance(self, size: int, only: WorkflowInstanceId | None = None) -> int:
        """One transaction, see below."""
        with self.settled.changing():
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
            async with self._life.writing() as connection:
                aside = self._aside.ids if only is None else ()
                events = await task_events.consume(connection, self._me.epoch, size, without=aside, only=only)
                touched = {event.workflow_instance_id for event in events} if only is None else {only}
                if not touched:
                    return 0
                with blaming_the_data():
                    await self.restorer.restore_owned(connection, touched - self.runs.ids(), writes)
                    for event in events:
                        if isinstance(event, Unreadable):
                            unreadable[event.workflow_instance_id] = event.what
                        else:
                            await self._feed(event, writes)
                    await self.flush(connection, writes)
                settled = touched & self.runs.failed_over
                if settled:
                    await workflow_instances.reset_takeovers(connection, list(settled), self._me.epoch)
        except BaseException:
            self._failing = touched
            self.runs.forget(touched)
            raise
        self.runs.failed_over -= settled
        self.written(writes)
        for id_, what in unreadable.items():
            log.warning("event_unreadable", workflow_instance=id_, error=what, so="the run is made again from its rows")
        if unreadable:
            self.drive_again(unreadable)
        return len(events)

    async def _feed(self, told: TaskEnd | ChildEnd | HaltTold, writes: Writes) -> None:
        runnable = self.runs.get(told.workflow_instance_id)
        if runnable is not None:  # else it has ended: the event tells what the rows told before
            await tell(runnable, event_of(told), writes)
            if isinstance(told, TaskEnd) and told.state is TaskState.SUCCESS:
                writes.note_success(runnable, told.code)

    async def _restore_missing(self) -> None:
        """Bring memory and rows together: read what is ours and unknown, drop what is known and not ours."""
        async with self._database.reading() as connection:
            known = self.runs.ids()
            owned = await workflow_instances.owned(connection, self._me.epoch)
        self.runs.forget(known - owned)
        self.runs.failed_over &= owned
        if missing := owned - self.runs.ids():
            log.info("reads_again", workflow_instances=len(missing))
            await self._restore_all(missing)

    async def _restore_all(self, wanted: Collection[WorkflowInstanceId]) -> None:
        """Make runnables of these, those that are ours, in batches."""
        missing = sorted(id_ for id_ in wanted if id_ not in self._aside)
        while missing:
            size, began_s = self._batch.size, boottime_s()
            ids, missing = missing[:size], missing[size:]
            try:
                with self.settled.changing():
                    await self.plans.with_plans(self._database, partial(self._restore_with, ids=ids))
            except (BadData, LockTaken) as error:
                if not self._put_in_quarantine(error):
                    raise
                missing = sorted({*missing, *ids} - set(self._aside.ids))
                continue
            self._batch.took(len(ids), boottime_s() - began_s)

    async def _restore_with(self, plans: Fetched, ids: Collection[WorkflowInstanceId]) -> None:
        """One transaction: make runnables of these."""
        writes = Writes(plans)
        self._failing = ()
        try:
            async with self._life.writing() as connection:
                self._failing = ids
                with blaming_the_data():
                    await self.restorer.restore_owned(connection, ids, writes)
                    await self.flush(connection, writes)
        except BaseException:
            self.runs.forget(ids)
            raise
        self.written(writes)

    async def _give_up(self, id_: WorkflowInstanceId, error: str) -> None:
        """End an instance that cannot be driven as FAILURE: it must not hold up the others."""
        with self.settled.changing():
            async with self._life.writing() as connection:
                with blaming_the_data():
                    await task_events.delete_of(connection, [id_])
                    await workflow_instances.take_back(connection, [id_], self._me.epoch)
                    writes = Writes()
                    for own in await workflow_instances.still_owned(connection, [id_], self._me.epoch):
                        writes.give_up(own, f"it could not be driven: {error}")
                    await self.flush(connection, writes)
            self.runs.forget([id_])
        log.error("workflow_given_up", workflow_instance=id_, error=error)


def _say_it_waits(id_: WorkflowInstanceId, error: str, pause_s: float) -> None:
    so = "it is left as it is, and all others go on"
    log.warning("workflow_waits", workflow_instance=id_, error=error, tries_again_in_s=pause_s, so=so)
