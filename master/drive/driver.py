"""Drives all runnables of a master: feeds them events, writes what they want, and drops those whose write failed.

Memory is a copy of rows. Whenever a transaction fails, the runnables that it touched are dropped and restored from
their rows; nothing is ever repaired in memory. If the cause may concern one run alone (a row that differs from memory,
a lock of another session, an unexpected error), each run that may be the cause is tried alone. One that cannot be
driven ends as FAILURE, and one that cannot even be ended stays in quarantine with its events, while all others go on.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterable, Sequence
from datetime import timedelta
from functools import partial

import structlog

from dao.alerts import alerts
from dao.cluster.nodes import Me
from dao.postgres.database import Database
from dao.postgres.errors import BadData, LockTaken
from dao.runs import workflow_instances
from dao.runs.workflow_instances import OwnershipLost
from dao.tasks import task_events
from dao.tasks.task_events import Unreadable
from master.claim.batch import AdaptiveBatch
from master.claim.quarantine import Quarantine
from master.drive.dependents import Dependents
from master.drive.events import TookTooLong
from master.drive.handling import feed
from master.drive.held_runs import HeldRuns
from master.drive.large_values import LargeValues
from master.drive.latest import tell_latest
from master.drive.plans import Plans
from master.drive.restorer import Restorer
from master.drive.runnable import WorkflowRunnable
from master.drive.stream_events import with_run_times
from master.drive.work import Transactions, Work
from metrics import master as metrics
from model.blame import LONG_S
from model.cluster.low_water import LowWater
from model.ids import WorkflowInstanceId
from model.runs.instances import AttemptEnd
from model.runs.states import TaskState
from node.life import Life
from node.store_access import StoreAccess
from node.write_loop import run_rounds
from registry.clock import boottime_s

log = structlog.get_logger()

TIMEOUT_RETRY_S = 10.0
"""The pause before a run that exceeded its timeout and could not be ended is tried again."""
NOT_OURS_YET_S = 0.5
"""The pause before a timeout is checked again if the run's row was not this master's: the transaction that takes it may
not have committed."""


class Driver:
    """Drives the runs that this master owns.

    Args:
        poll: set when attempts were written that wait for a time.
        room: set when there is room for further runs (`HeldRuns.want_room`).
        wake: set when there may be events, or something to restore.
        dependents: learns of own runs whose DEPENDENT tasks may have begun to wait.
        store: the log store, which has large values; None: there is none.
    """

    def __init__(
        self,
        life: Life,
        batch_max: int,
        *,
        wake: asyncio.Event,
        poll: asyncio.Event,
        room: asyncio.Event,
        dependents: Dependents,
        longest_run: timedelta | None = None,
        store: StoreAccess | None = None,
    ) -> None:
        self.wake = wake
        self.plans = Plans()
        self.runs = HeldRuns(self.wake, room, longest_run)
        self.transactions = Transactions(
            life, self.plans, LargeValues(store), self.runs, dependents, events=wake, poll=poll
        )
        self.restorer = Restorer(life.me, self.plans, self.runs)
        self._life = life
        self._database: Database = life.database
        self._me: Me = life.me
        self._batch = AdaptiveBatch(batch_max)
        self.low_water = LowWater()
        """The mark of this master's events."""
        self._waking: asyncio.TimerHandle | None = None
        self._reload: int | None = None
        """Set when everything must be read again: the number of unknown outcomes at that time."""
        self._again: set[WorkflowInstanceId] = set()
        self._quarantine: Quarantine[WorkflowInstanceId] = Quarantine(
            self.wake, self._drive_alone, self._fail, _log_quarantined, long_s=LONG_S
        )

    def reload(self) -> None:
        """Soon read whatever is ours by the rows and not in memory."""
        self._reload = self.transactions.open.unknown
        self.wake.set()

    def drive_again(self, ids: Iterable[WorkflowInstanceId]) -> None:
        """Soon drop these and restore them from their rows, if they are still ours."""
        self._again.update(ids)
        self.wake.set()

    def is_about_to_drive_again(self, id_: WorkflowInstanceId) -> bool:
        """Whether that was requested and not done yet, or the run is in quarantine."""
        return id_ in self._again or id_ in self._quarantine

    def fail(self, id_: WorkflowInstanceId, why: str) -> None:
        """Soon end an own run as a FAILURE; `why` continues "it could not be driven: "."""
        if self._quarantine.add_hopeless(id_, why):
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
        goes_on = True
        while goes_on:  # in turn, so that nothing waits for the end of a stream of events
            await self._do_what_is_asked()
            goes_on = await self._one_batch()
            goes_on |= await self._quarantine.try_due()

    async def _do_what_is_asked(self) -> None:
        """Restore runs as requested, and check those whose timeout may have passed."""
        if self._again:
            again = frozenset(self._again)
            self.runs.drop(again)
            await self._restore_all(again)
            self._again -= again
        if (unknown := self._reload) is not None:
            self._reload = None
            try:
                await self._restore_missing()
            except BaseException:
                self._reload = max(unknown, self._reload or 0)
                raise
            self.transactions.open.resolve(unknown)
        if fired := self.runs.lengths.take():
            await self._check_timeouts(fired)

    async def _check_timeouts(self, ids: Collection[WorkflowInstanceId]) -> None:
        """Warn about these runs, or end them, if they have run too long by the database's clock.

        A run that is held before its row is ours (`HeldRuns.hold`) is checked again.
        """
        try:
            ran_s = await self._database.read(workflow_instances.ran_s, list(ids), self._me.epoch)
            for id_ in ids:
                runnable = self.runs.get(id_)
                if runnable is not None and id_ in ran_s:
                    await self._check_timeout(runnable, ran_s[id_])
                elif runnable is not None:
                    self.runs.lengths.ring_at(id_, NOT_OURS_YET_S, 0.0)
        except BaseException:
            self.drive_again(ids)  # which starts their timers again
            raise

    async def _check_timeout(self, runnable: WorkflowRunnable, ran_s: float) -> None:
        id_, limits = runnable.instance.id, self.runs.lengths.of(runnable)
        self.runs.lengths.ring_at(id_, limits.next_after(ran_s), ran_s)
        if limits.warn_s is not None and ran_s >= limits.warn_s:
            await self._warn(id_, runnable.plan.spec.timeout_minutes)
        if limits.fail_s is None or ran_s < limits.fail_s or runnable.cleans_up:
            return
        log.warning("workflow_took_too_long", workflow_instance=id_, reason=limits.why, so="it ends as FAILURE")

        async def end(work: Work) -> None:
            work.touch([id_])
            await feed(runnable, TookTooLong(limits.why), work.writes)

        try:
            await self.transactions.run(Work, end)
        except (BadData, LockTaken) as error:  # of this run alone
            log.warning("workflow_not_ended_yet", workflow_instance=id_, error=str(error), so="it is retried")
            asyncio.get_running_loop().call_later(TIMEOUT_RETRY_S, self.drive_again, [id_])

    async def _warn(self, id_: WorkflowInstanceId, minutes: float) -> None:
        """Write the alert, unless it exists: the timer restarts whenever the run is restored."""
        log.warning("workflow_takes_too_long", workflow_instance=id_, timeout_minutes=minutes)
        try:
            await self._life.write(alerts.run_takes_too_long, id_, minutes, self._me.epoch)
        except (BadData, LockTaken) as error:
            log.warning("alert_not_written_yet", workflow_instance=id_, error=str(error), so="it is retried")
            asyncio.get_running_loop().call_later(TIMEOUT_RETRY_S, self.drive_again, [id_])

    async def _one_batch(self) -> bool:
        """Handle a batch of events, or quarantine its runs. Returns whether to read again at once."""
        size, began_s = self._batch.size, boottime_s()
        try:
            count = await self._advance(size)
        except (BadData, LockTaken) as error:
            self._quarantine_suspects(error)
            return isinstance(error, OwnershipLost)  # the other runs of the batch match their rows
        self._batch.took(count, boottime_s() - began_s)
        if count:
            self._quarantine.others_were_handled()
            metrics.events.inc(count)
            metrics.advance_seconds.observe(boottime_s() - began_s)
        return count == size

    def _quarantine_suspects(self, error: BadData | LockTaken) -> None:
        """Have each run that may have caused a failure tried alone. Raises the error if smaller batches must come
        first."""
        suspects: Collection[WorkflowInstanceId] = error.suspects
        if isinstance(error, OwnershipLost):
            suspects = error.ids
            is_quarantined = self._quarantine.add_named(suspects)
        else:
            is_quarantined = self._quarantine.add_failed(suspects, error)
        if not is_quarantined:
            raise error
        log.warning("workflows_quarantined", count=len(suspects), error=str(error), so="each is tried alone")

    async def _drive_alone(self, id_: WorkflowInstanceId) -> bool:
        """Drive one instance, restored from its rows. There is always room for it."""
        if await self._advance(self._batch.size, only=id_):
            self._quarantine.others_were_handled()
        return True

    async def _advance(self, size: int, only: WorkflowInstanceId | None = None) -> int:
        """Handle up to `size` events and their consequences. Returns how many there were.

        With `only`, those of that run, which is restored first; otherwise of all that are not in quarantine.
        """
        handle = partial(self._handle_events, size, only)
        count, last, unreadable = await self.transactions.run(Work, handle)
        if last:
            self.low_water.took(last, boottime_s())
        for id_, what in unreadable.items():
            log.warning("event_unreadable", workflow_instance=id_, error=what, so="the run is restored from its rows")
        if unreadable:
            self.drive_again(unreadable)
        return count

    async def _handle_events(
        self, size: int, only: WorkflowInstanceId | None, work: Work
    ) -> tuple[int, int, dict[WorkflowInstanceId, str]]:
        """Returns how many; the id up to which everything not in quarantine was taken, 0 if none; and the runs with
        unreadable events, with the reason."""
        without = self._quarantine.ids if only is None else ()
        first = self.low_water.first(boottime_s()) if only is None else 0
        events = await task_events.consume(
            work.connection, self._me.epoch, size, without=without, only=only, first=first
        )
        if first and not events and not self.low_water.is_used:  # the wake may mean one with an old id
            if wait_s := self.low_water.searches_all_in_s(boottime_s()):
                self._wake_in(wait_s)
            else:
                events = await task_events.consume(work.connection, self._me.epoch, size, without=without)
        metrics.event_delay_seconds.observe_all(
            [event.age_s for event in events if event.age_s is not None and isinstance(event.what, AttemptEnd)]
        )
        work.touch({event.run for event in events} if only is None else {only})
        work.suspects = sorted(work.touched)
        await self.restorer.restore_owned(work, self.runs.not_held(work.touched))
        await tell_latest(work.connection, (self.runs.get(event.run) for event in events))
        unreadable: dict[WorkflowInstanceId, str] = {}
        for event in await with_run_times(work.connection, events, self.runs):
            if isinstance(event.what, Unreadable):
                unreadable[event.run] = event.what.why
            elif (runnable := self.runs.get(event.run)) is not None:  # else it has ended, as its rows said
                await feed(runnable, event.what, work.writes)
                if isinstance(event.what, AttemptEnd) and event.what.state is TaskState.SUCCESS:
                    work.writes.note_success(runnable, event.what)
        if progressed := work.touched & self.runs.failed_over:
            await workflow_instances.reset_takeovers(work.connection, list(progressed), self._me.epoch)
            work.writes.progressed |= progressed
        return len(events), events[-1].id if events and only is None else 0, unreadable

    def _wake_in(self, wait_s: float) -> None:
        loop = asyncio.get_running_loop()
        if self._waking is None or self._waking.when() <= loop.time():
            self._waking = loop.call_later(wait_s, self.wake.set)

    async def _restore_missing(self) -> None:
        """Make memory match the rows: restore unknown runs of ours, drop known runs of others."""
        async with self._database.reading() as connection:
            known = self.runs.ids()
            owned = await workflow_instances.owned(connection, self._me.epoch)
        self.runs.drop(known - owned)
        self.runs.failed_over &= owned
        if missing := owned - self.runs.ids():
            log.info("restores_missing_runs", workflow_instances=len(missing))
            await self._restore_all(missing)

    async def _restore_all(self, wanted: Collection[WorkflowInstanceId]) -> None:
        """Restore the runs among these that are ours, in batches."""
        missing = sorted(id_ for id_ in wanted if id_ not in self._quarantine)
        while missing:
            size, began_s = self._batch.size, boottime_s()
            ids, missing = missing[:size], missing[size:]
            try:
                await self.transactions.run(Work, partial(self._restore, ids))
            except (BadData, LockTaken) as error:
                self._quarantine_suspects(error)
                missing = sorted({*missing, *ids} - set(self._quarantine.ids))
                continue
            self._batch.took(len(ids), boottime_s() - began_s)

    async def _restore(self, ids: Sequence[WorkflowInstanceId], work: Work) -> None:
        work.touch(ids)
        work.suspects = ids
        await self.restorer.restore_owned(work, ids)

    async def _fail(self, id_: WorkflowInstanceId, error: str) -> None:
        """End a run that cannot be driven as FAILURE: it must not block the others."""
        await self.transactions.run(Work, partial(self._write_failure, id_, error))
        self.runs.drop([id_])
        log.error("workflow_abandoned", workflow_instance=id_, error=error)

    async def _write_failure(self, id_: WorkflowInstanceId, error: str, work: Work) -> None:
        work.touch([id_])
        await task_events.delete_of(work.connection, [id_])
        await workflow_instances.take_back(work.connection, [id_], self._me.epoch)
        for own in await workflow_instances.still_owned(work.connection, [id_], self._me.epoch):
            work.writes.fail(own, f"it could not be driven: {error}")


def _log_quarantined(id_: WorkflowInstanceId, error: str, pause_s: float) -> None:
    so = "it stays unchanged; all others continue"
    log.warning("workflow_waits", workflow_instance=id_, error=error, tries_again_in_s=pause_s, so=so)
