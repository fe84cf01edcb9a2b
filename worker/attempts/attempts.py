"""The attempts that a worker has: from the claim, while they run, until their ends are reported."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from inspect import CORO_CREATED, getcoroutinestate, iscoroutine

import structlog

from dao.tasks import task_claims
from dao.tasks.task_claims import ClaimedTask, Report
from metrics import worker as metrics
from model.backoff import Backoff
from model.errors import Fenced, Unavailable, Unknown
from model.ids import TaskInstanceId
from model.runs.looks import WAIT
from model.runs.states import TaskState
from node.confirmed_ids import ConfirmedIds
from node.life import Life
from worker.attempts.executor import Executor
from worker.attempts.report import report
from worker.tasks.plugin import TaskResult

log = structlog.get_logger()


class Attempts:
    """Runs the claimed attempts. Each of the claiming loops says how many places its claim may fill.

    `on_end` is called when an ended attempt must be reported, `on_reported` when it no longer must.
    """

    def __init__(
        self,
        life: Life,
        executor: Executor,
        capacity: int,
        on_end: Callable[[], None],
        on_reported: Callable[[TaskInstanceId], None],
    ) -> None:
        self.claimed: dict[TaskInstanceId, ClaimedTask] = {}
        """The attempts of this worker: running, or ended and not yet reported."""
        self.running: dict[TaskInstanceId, asyncio.Task[None]] = {}
        self.ended: dict[TaskInstanceId, Report] = {}
        """The ends that the database does not have yet."""
        self.why_cancelled: dict[TaskInstanceId, tuple[TaskState, str]] = {}
        self.ever_leased = False
        """Whether any of them held resources of a pool."""
        self.lately = ConfirmedIds[TaskInstanceId](life)
        """The attempts it had recently."""
        self._not_begun: set[TaskInstanceId] = set()
        self._life = life
        self._executor = executor
        self._capacity = capacity
        self._on_end = on_end
        self._on_reported = on_reported
        self._asked = 0

    @property
    def places(self) -> int:
        """How many more attempts it can take, beyond what claims in progress may bring."""
        return self._capacity - len(self.claimed) - self._asked

    @property
    def all_began(self) -> bool:
        return not self._not_begun

    @contextmanager
    def asking(self, places: int) -> Iterator[None]:
        """Reserve places for a claim, besides those that it frees."""
        self._asked += places
        try:
            yield
        finally:
            self._asked -= places

    def start(self, claimed: Iterable[ClaimedTask]) -> None:
        """Run these attempts, unless it has them: after a COMMIT of unknown outcome, they may be read twice."""
        new = [task for task in claimed if task.id not in self.claimed]
        metrics.attempts_claimed.inc(len(new))
        metrics.queue_wait_seconds.observe_all(
            [task.waited_s for task in new if task.waited_s is not None and task.type != WAIT]
        )
        for task in new:
            self.claimed[task.id] = task
            self.ever_leased = self.ever_leased or task.leases is not None
            self._not_begun.add(task.id)
            self.running[task.id] = asyncio.create_task(self._run(task))

    def cancel(self, id_: TaskInstanceId, state: TaskState, reason: str) -> None:
        """Kill an attempt if it runs; it then ends as `state`. Only the first reason counts."""
        if id_ in self.running and id_ not in self.why_cancelled:
            self.why_cancelled[id_] = (state, reason)
            running = self.running[id_]
            running.cancel()
            coroutine = running.get_coro()
            assert iscoroutine(coroutine)
            if getcoroutinestate(coroutine) == CORO_CREATED:  # cancelled before its first step, it takes none
                self.has_ended(self.claimed[id_], report(self.claimed[id_], TaskResult(state, reason)))

    async def abandon(self) -> None:
        """Kill all attempts and report nothing: they no longer belong to this worker."""
        tasks = list(self.running.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def drop(self, id_: TaskInstanceId) -> None:
        """Forget an attempt whose end no longer needs a report."""
        self._on_reported(id_)
        self.claimed.pop(id_, None)
        self.lately.add([id_])
        self.ended.pop(id_, None)
        self.why_cancelled.pop(id_, None)

    def has_ended(self, task: ClaimedTask, end: Report) -> None:
        self.running.pop(task.id, None)
        self._not_begun.discard(task.id)
        self.ended[task.id] = end
        self._on_end()

    async def _run(self, task: ClaimedTask) -> None:
        # In this attempt's own context: every log line in it names the attempt.
        structlog.contextvars.bind_contextvars(workflow_instance=task.workflow_instance_id, task_instance=task.id)
        try:
            if task.state == TaskState.DISPATCH and not await self._may_start(task):
                end = report(task, TaskResult(TaskState.KILL, "it was stopped before it began"))
            else:
                self._not_begun.discard(task.id)
                end = await self._executor.run(task)
        except asyncio.CancelledError:
            if task.id not in self.why_cancelled:
                raise
            end = report(task, TaskResult(*self.why_cancelled[task.id]))
        except Fenced:
            return  # the writer finds out by itself, and ends this life
        except Exception as error:
            log.exception("task_broke", task_instance=task.id)
            end = report(task, TaskResult.failure(f"the worker could not run it: {error!r}"))
        self.has_ended(task, end)

    async def _may_start(self, task: ClaimedTask) -> bool:
        """Record the start of an attempt before it starts."""
        backoff = Backoff()
        while True:
            try:
                return await self._life.write(task_claims.mark_running, task, self._life.me.epoch)
            except (Unavailable, Unknown) as error:
                log.warning("start_waits", task_instance=task.id, error=str(error))
                await asyncio.sleep(backoff.next_pause_s(random.random()))  # noqa: S311 - jitter
