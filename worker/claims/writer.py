"""The writer of a worker: ends of attempts are reported and new tasks claimed, in one transaction.

`worker/claims/pools.py` claims what needs resources of pools.

While one batch is written, the next reports accumulate, so a busy worker writes in large batches by itself. A report
that matches no row means that the task was taken from us: its process has ended by then, and nothing is reported.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence

import structlog

from dao.cluster.went_back import Known
from dao.pools import pool_leases
from dao.postgres.database import FencedTransaction
from dao.postgres.errors import BadData, translating
from dao.postgres.notify import EVENT, notify
from dao.tasks import task_claims
from dao.tasks.task_claims import ClaimedTask, Report
from metrics import worker as metrics
from model.blame import LONG_S, Blame, Verdict
from model.errors import Unknown
from model.ids import Epoch, TaskInstanceId
from model.runs.queue_places import QueuePlaces
from model.runs.states import TaskState
from node.confirmed_ids import ConfirmedIds
from node.life import Life
from node.write_loop import run_rounds
from registry.clock import boottime_s
from worker.attempts.attempts import Attempts
from worker.attempts.executor import Executor
from worker.attempts.news import News, record
from worker.attempts.report import report
from worker.claims.pools import PoolClaims
from worker.claims.streams import StreamClaims
from worker.tasks.plugin import TaskResult

log = structlog.get_logger()


class Writer:
    """Claims tasks up to the capacity unless the node is overloaded, runs them, and reports their ends.

    `on_reported` is called with an attempt whose end no longer needs a report, `on_ended` with one whose end is in the
    database.
    """

    def __init__(
        self,
        life: Life,
        executor: Executor,
        on_reported: Callable[[TaskInstanceId], None],
        news: News | None = None,
        on_ended: Callable[[ClaimedTask], None] = lambda _task: None,
    ) -> None:
        settings = executor.settings
        self.queued = False
        """Whether there may be tasks to claim; note in `places` where, set it, then `wake`."""
        self.places = QueuePlaces(settings.groups)
        self.kills = False
        """Whether there may be tasks to kill; set it, then `wake`."""
        self.compares = False
        """Whether to compare the owned tasks with the rows; set it, then `wake`."""
        self.trusted = True
        """Whether this worker may assume that it is not fenced (`worker/beats.py`); otherwise it takes nothing new."""
        self.wake = asyncio.Event()
        self._life = life
        self._groups = settings.groups
        self._overload = executor.overload
        self.news = news or News()
        """News of running tasks that the database does not have yet."""
        self.streams = StreamClaims(life, settings.groups)
        self._attempts = Attempts(life, executor, settings.capacity, self._on_end, on_reported)
        self.pools = PoolClaims(
            life,
            self._attempts,
            self.streams,
            self.places,
            takes=lambda: self.takes_new,
            on_round=self.wake.set,
        )
        """Claims what needs resources."""
        self._reload = False
        self._unknown: set[TaskInstanceId] = set()
        self._held_unknown: set[TaskInstanceId] = set()
        self._one_by_one = False
        self._blame: Blame[TaskInstanceId] = Blame(LONG_S)
        self._claims = False
        self._in_doubt = False
        self._lately_ended = ConfirmedIds[TaskInstanceId](life)
        self._replaced: set[TaskInstanceId] = set()
        self._on_ended = on_ended

    @property
    def running(self) -> int:
        """The number of this worker's tasks: running, or ended and not yet reported."""
        return len(self._attempts.claimed)

    @property
    def known(self) -> Known:
        """The attempts that the database must have."""
        return Known(running=[*self._attempts.claimed, *self._attempts.lately], ended=list(self._lately_ended))

    @property
    def unreported(self) -> dict[TaskInstanceId, Report]:
        """The ends that the database does not have yet; at most as many as the capacity."""
        return dict(self._attempts.ended)

    @property
    def begins_nothing(self) -> bool:
        """Whether nothing begins here now: it takes nothing, no claim is in progress or of unknown outcome, and
        everything claimed has begun."""
        claims = self._claims or self.pools.is_under_way or self.pools.in_doubt
        return self._life.takes_nothing and self._attempts.all_began and not claims

    async def run(self) -> None:
        """Report and claim until cancelled. Raises `Fenced`."""
        await run_rounds(
            "write_batch",
            self.wake,
            self._catch_up,
            self._life,
            shrink=lambda: None,
            read_again=self._read_again,
        )

    def _read_again(self) -> None:
        self._reload = True

    def _on_end(self) -> None:
        self.pools.try_again()
        self.wake.set()

    def search_queue(self) -> None:
        """Search the whole queue next time."""
        self.queued = True
        self.places.search_all()
        self.wake.set()

    def cancel_all(self, state: TaskState, reason: str) -> None:
        """Kill everything that runs; each attempt then ends as `state`."""
        for id_ in list(self._attempts.running):
            self._attempts.cancel(id_, state, reason)

    async def abandon(self) -> None:
        """Kill everything and report nothing: it no longer belongs to this worker."""
        await self._attempts.abandon()

    async def _catch_up(self) -> None:
        if self._reload or self.pools.reads_again:
            await self._read_rows()
        if self.kills:
            self.kills = False
            await self._kill()
        if self.compares and not self.pools.in_doubt:
            self.compares = False
            await self._compare()
        if self._life.takes_nothing:
            self._hand_over_streams()
        if self.streams.queued and self.takes_new:
            await self._claim_streams()
        while self._attempts.ended or self.news.is_there or self._room_for(0) > 0:
            await self._write_batch()

    def _room_for(self, reported: int) -> int:
        """How many tasks to claim after these ended ones are reported."""
        if not (self.takes_new and self.queued) or self.pools.goes_first:
            return 0
        return self._attempts.places + reported - self.streams.reserved

    @property
    def takes_new(self) -> bool:
        """Whether it takes anything new now, given a free place."""
        if self._life.takes_nothing or self._overload.takes_nothing or self._one_by_one:
            return False
        return self.trusted and not (self._in_doubt or self.pools.in_doubt)

    async def _claim_streams(self) -> None:
        self._claims, self.streams.queued, places = True, False, max(0, self._attempts.places)
        try:
            with self._attempts.asking(places):
                claimed = await self.streams.claim(places)
        except BaseException as error:
            self.streams.queued = True
            self._claims = self._in_doubt = isinstance(error, Unknown)
            raise
        self._attempts.start(claimed)
        self._claims = False

    def _hand_over_streams(self) -> None:
        """End the streams, which do not end by themselves, so that they continue elsewhere."""
        for id_ in [id_ for id_, task in self._attempts.claimed.items() if task.stream is not None]:
            self._attempts.cancel(id_, TaskState.PAUSE, "it moves: its worker takes nothing new")

    async def _write_batch(self) -> None:
        ended = list(self._attempts.ended.values())
        if self._one_by_one:
            ended = ended[:1]
        limit = self._room_for(len(ended))
        if limit > 0:
            self._claims = True
            self.queued = False  # a notification from here on may mean a task that this claim did not see
        places = self.places.begin(boottime_s()) if limit > 0 else None
        claimed: list[ClaimedTask] = []
        written: dict[TaskInstanceId, Epoch | None] = {}
        news = self.news.take()
        began_s = boottime_s()
        try:
            with self._attempts.asking(limit - len(ended) if limit > 0 else 0):
                async with self._life.writing() as connection:
                    await record(connection, news, self._life.me.epoch)
                    if ended:
                        written = await self._report(connection, ended)
                    if limit > 0:
                        claimed = await task_claims.claim(connection, self._groups, limit, self._life.me.epoch, places)
        except BaseException as error:
            self.queued = True
            self.places.search_all()
            self.news.put_back(news)
            self._claims = self._in_doubt = limit > 0 and isinstance(error, Unknown)
            if isinstance(error, BadData):
                self._suspect(error)
            raise
        metrics.write_seconds.observe(boottime_s() - began_s)
        for each in ended:
            if each.id not in written or written[each.id] is not None:
                self._on_ended(self._attempts.claimed[each.id])
            self._drop(each.id)
        by_itself = [each.id for each in ended if each.state is not TaskState.NEED_FAULT_TOLERANCE]
        self._lately_ended.add(id_ for id_ in by_itself if written.get(id_) is not None)
        self._one_by_one = self._one_by_one and bool(self._attempts.ended)
        if ended:
            self._blame.handled()
        if limit > 0:
            may_be_more = claimed if len(claimed) == limit else []
            self.queued = self.queued or bool(may_be_more)
            self.places.end((each.workflow_priority, each.workflow_instance_id) for each in may_be_more)
        self._attempts.start(claimed)
        if ended:
            self.pools.try_again()
        self._claims = False

    async def _report(self, connection: FencedTransaction, ended: list[Report]) -> dict[TaskInstanceId, Epoch | None]:
        """Write reports; returns the owner of each one's run (None: it looks again, so it has not ended)."""
        try:
            with translating():
                written = await task_claims.report(connection, ended, self._life.me.epoch)
        except BadData as error:
            error.suspects = ended
            raise
        if leased := [each.id for each in ended if self._attempts.claimed[each.id].leases is not None]:
            await pool_leases.free(connection, leased, self._life.me.epoch)
        lost = [each.id for each in ended if each.id not in written]
        metrics.reports_late.inc(len(lost))
        has_ended = [each.state.value for each in ended if each.id in written and each.again is None]
        for state, count in Counter(has_ended).items():
            metrics.attempts_ended.labels(state).inc(count)
        if lost:
            log.warning("reports_came_too_late", task_instances=lost, so="these attempts were abandoned by the masters")
        if owners := {owner for owner in written.values() if owner is not None}:
            await notify(connection, EVENT, owners)
        return written

    async def _kill(self) -> None:
        wanted = await self._life.database.read(task_claims.to_end, self._life.me.epoch)
        for id_, handover in wanted.items():
            if handover is not None:
                self._attempts.cancel(id_, TaskState.PAUSE, handover)
            else:
                self._attempts.cancel(id_, TaskState.KILL, "it was killed because its workflow ends")

    def _drop(self, id_: TaskInstanceId) -> None:
        self._blame.drop(id_)
        self._attempts.drop(id_)
        self._replaced.discard(id_)

    async def _read_rows(self) -> None:
        """Read this worker's rows. A caller that asks during a read must ask again to learn about its COMMIT."""
        for_pools, self.pools.reads_again = self.pools.reads_again, False
        try:
            await self._start_unknown()
        except BaseException:
            self.pools.reads_again = self.pools.reads_again or for_pools
            raise
        if self._reload:
            self._reload = self._claims = self._in_doubt = False
        if for_pools:
            self.pools.outcome_known()

    async def _start_unknown(self) -> None:
        """After an unknown COMMIT: start tasks that are ours by their rows and unknown here, and report the rest."""
        ended = list(self._attempts.ended)
        owned = {task.id: task for task in await self._life.database.read(task_claims.owned, self._life.me.epoch)}
        for id_ in ended:
            if id_ not in owned:
                self._on_ended(self._attempts.claimed[id_])
                self._drop(id_)
        self._attempts.start(owned.values())

    async def _compare(self) -> None:
        """Kill running tasks that are not ours by their rows; give back tasks that are ours by their rows and do not
        run.

        Between two batches the rows match all owned tasks, unless a claim is of unknown outcome, so a difference is a
        bug, or somebody changed rows. A task that does not run may have run: it is reported as lost, and its master
        decides. A difference must be seen twice, since a failed batch can cause one. A fenced life has no rows and
        nothing to compare, so only differences are checked in a transaction that proves ownership.
        """
        running = set(self._attempts.running)  # a claim with resources may bring more meanwhile
        owned = {task.id: task for task in await self._life.database.read(task_claims.owned, self._life.me.epoch)}
        if running <= owned.keys() <= self._attempts.claimed.keys() and not self._attempts.ever_leased:
            self._unknown = set()
            return
        async with self._life.writing() as connection:
            owned = {task.id: task for task in await task_claims.owned(connection, self._life.me.epoch)}
            if self._attempts.ever_leased:
                await self._free_unknown(connection)
        for id_ in running - owned.keys() - self._attempts.why_cancelled.keys():
            log.warning("task_runs_without_its_row", task_instance=id_, so="it is killed: others may run it again")
            self._attempts.cancel(id_, TaskState.KILL, "its row says that this worker does not run it")
        before, self._unknown = self._unknown, owned.keys() - self._attempts.claimed.keys()
        for id_ in before & self._unknown:
            log.warning("task_does_not_run", task_instance=id_, so="it is reported as lost; please report it")
            self._attempts.claimed[id_] = owned[id_]
            self._attempts.has_ended(
                owned[id_],
                report(owned[id_], TaskResult(TaskState.NEED_FAULT_TOLERANCE, "its worker was not running it")),
            )

    async def _free_unknown(self, connection: FencedTransaction) -> None:
        """Give back resources held for attempts that it does not have, also after seeing them twice."""
        held = await pool_leases.held(connection, self._life.me.epoch)
        before, self._held_unknown = self._held_unknown, held - self._attempts.claimed.keys()
        if left := before & self._held_unknown:
            log.warning("resources_without_their_task", task_instances=sorted(left), so="they are given back")
            await pool_leases.free(connection, left, self._life.me.epoch)

    def _suspect(self, error: BadData) -> None:
        """Write reports one at a time after a batch failed. A report that is to blame is reduced to a failure; if even
        that cannot be written, its row is not as this worker left it, and the report is dropped."""
        reports: Sequence[Report] = error.suspects
        self._one_by_one = bool(reports)
        if len(reports) != 1:
            return
        (failing,) = reports
        if self._blame.failed(failing.id, boottime_s()) is Verdict.UNKNOWN:
            self._attempts.ended[failing.id] = self._attempts.ended.pop(failing.id)
            return
        if failing.id in self._replaced:
            log.error("report_dropped", task_instance=failing.id, error=str(error))
            self._drop(failing.id)
            return
        self._blame.drop(failing.id)
        self._replaced.add(failing.id)
        reason = "it ended, but its result could not be written"
        self._attempts.ended[failing.id] = report(self._attempts.claimed[failing.id], TaskResult.failure(reason))
