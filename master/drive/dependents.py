"""DEPENDENT tasks: evaluated by their owner when something ended that they await, and periodically.

They need no thread and no process, only a row with the time at which they began to wait. An end costs only the tasks
that await it: `dao.runs.dependencies.notify_masters` notifies every master, which finds in memory who awaits it
(`master/drive/awaited.py`). A lost notification costs time and never correctness, since each evaluation reads the rows:
a slow walk evaluates all waiting tasks, one stretch at each poll. While no task waits anywhere, no query is made and no
end is announced.
"""

from __future__ import annotations

import asyncio
import heapq
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import TypeVar

import structlog

from dao.postgres.errors import BadData, LockTaken
from dao.runs import dependencies
from dao.runs.dependencies import BEGINNING, DependentEnd, WaitingTask, read_notice
from dao.runs.dependent_verdicts import evaluate_all
from master.claim.quarantine import Quarantine
from master.drive.awaited import Awaited
from model.blame import LONG_S
from model.errors import Fenced, ShoalError
from model.ids import TaskInstanceId, WorkflowInstanceId
from model.logic.dependent import Outcome, Verdict
from model.runs.states import TaskState
from node.life import Life
from node.waiting import set_within
from node.write_loop import blaming_the_data
from registry.clock import boottime_s

log = structlog.get_logger()

Id = TypeVar("Id", bound=int)
BATCH = 100
"""Most tasks evaluated at once: they block the event loop for at most a few hundredths of a second."""
WALK_BATCH = 200
"""How many of all waiting tasks, in the whole cluster, are evaluated again at each poll."""
PAUSE_S = 0.05
"""Minimum time between two evaluations: many ends at once are handled together."""
RECHECK_S = 5.0
"""Time after its beginning at which a task is evaluated once more: until then a master may not have known that any task
waits, and so have announced no end. More than twice a master's polling interval."""


class Dependents:
    """Evaluates the DEPENDENT tasks of one master; `changed` is set when some of them have ended."""

    def __init__(self, life: Life, changed: asyncio.Event) -> None:
        self._life = life
        self._changed = changed
        self._wake = asyncio.Event()
        self._awaited = Awaited()
        self._seen: dict[TaskInstanceId, int] = {}
        """The round of the walk in which each task was last known to wait."""
        self._due: list[tuple[float, TaskInstanceId]] = []
        self._due_s: dict[TaskInstanceId, float] = {}
        self._began: set[WorkflowInstanceId] = set()
        self._suspected: set[TaskInstanceId] = set()
        self._round = 0
        self._place = BEGINNING
        self._walks = True
        self._walks_on = False
        self._quarantine: Quarantine[TaskInstanceId] = Quarantine(
            self._wake, self._evaluate_alone, self._refuse, _log_quarantined, long_s=LONG_S
        )

    def began(self, runs: Iterable[WorkflowInstanceId]) -> None:
        """DEPENDENT tasks of these runs, which this master owns, may have begun to wait."""
        self._began.update(runs)
        self._wake.set()

    def notified(self, payload: str) -> None:
        """A notification came: evaluate the tasks that await what ended, or all of them."""
        notice = read_notice(payload)
        if notice is None:
            self._round, self._place, self._walks_on = self._round + 1, BEGINNING, True
            self._wake.set()
        elif awaiting := self._awaited.by(notice):
            self._suspected |= awaiting
            self._wake.set()

    def walk_on(self) -> None:
        """Evaluate the next stretch of all waiting tasks, whether or not a notification came."""
        self._walks = True
        self._wake.set()

    async def run(self) -> None:
        """Evaluate until cancelled. Raises `Fenced`."""
        while True:
            if self._due:
                await set_within(self._wake, max(0.0, self._due[0][0] - boottime_s()))
            else:
                await self._wake.wait()
                self._wake.clear()
            try:
                await self._catch_up()
            except Fenced:
                raise
            except ShoalError as error:
                log.warning("dependents_not_evaluated", error=str(error))
                self._wake.set()
                await asyncio.sleep(1.0)
            await asyncio.sleep(PAUSE_S)

    async def _catch_up(self) -> None:
        self._suspect_due()
        while self._began:
            await self._evaluate_runs(_some(self._began))
        while self._suspected:
            await self._evaluate_some(_some(self._suspected))
        while self._walks or self._walks_on:
            await self._walk()
        if await self._quarantine.try_due():
            self._wake.set()

    async def _evaluate_runs(self, runs: set[WorkflowInstanceId]) -> None:
        """Evaluate tasks of these runs. They are removed from the set first, so that a notification meanwhile adds them
        again."""
        self._began -= runs
        try:
            waiting = await self._life.database.read(dependencies.waiting_of, self._life.me.epoch, runs)
            for first in range(0, len(waiting), BATCH):
                await self._evaluate(waiting[first : first + BATCH])
        except BaseException:
            self._began |= runs
            raise

    async def _evaluate_some(self, ids: set[TaskInstanceId]) -> None:
        self._suspected -= ids
        try:
            waiting = await self._life.database.read(dependencies.still_waiting, self._life.me.epoch, ids)
            self._drop(ids - {task.id for task in waiting})
            await self._evaluate(waiting)
        except BaseException:
            self._suspected |= ids
            raise

    async def _walk(self) -> None:
        """Evaluate one stretch. After the last one, a task that was not seen in this round no longer waits."""
        self._walks = False
        stretch = await self._life.database.read(dependencies.walk, self._life.me.epoch, self._place, WALK_BATCH)
        await self._evaluate(stretch.tasks)
        self._place = stretch.next or BEGINNING
        if stretch.next is None:
            self._drop([id_ for id_, seen in self._seen.items() if seen < self._round])
            self._round += 1
            self._walks_on = False

    async def _evaluate(self, waiting: Sequence[WaitingTask]) -> None:
        """Evaluate these, except what is quarantined, and write the ends of those that need not wait any longer."""
        evaluated = [task for task in waiting if task.id not in self._quarantine]
        if not evaluated:
            return
        verdicts = await self._life.database.read(evaluate_all, evaluated)
        now_s = boottime_s()
        for task, (verdict, spans) in verdicts.items():
            if verdict.outcome is Outcome.WAIT:
                self._awaited.put(task.id, spans)
                self._schedule(task.id, verdict, now_s)
                self._seen[task.id] = self._round
        await self._end([_end(task, v) for task, (v, _) in verdicts.items() if v.outcome is not Outcome.WAIT])

    def _schedule(self, id_: TaskInstanceId, verdict: Verdict, now_s: float) -> None:
        """Schedule the next evaluation if time alone may change the verdict; a new task gets one after a while in any
        case."""
        due = [] if id_ in self._seen else [now_s + RECHECK_S]
        if verdict.again_in_minutes is not None:
            due.append(now_s + max(0.0, 60 * verdict.again_in_minutes))
        if due and (due_s := min(due)) < self._due_s.get(id_, due_s + 1):
            self._due_s[id_] = due_s
            heapq.heappush(self._due, (due_s, id_))

    def _suspect_due(self) -> None:
        now_s = boottime_s()
        while self._due and self._due[0][0] <= now_s:
            due_s, id_ = heapq.heappop(self._due)
            if self._due_s.get(id_) == due_s:
                del self._due_s[id_]
                self._suspected.add(id_)

    def _drop(self, ids: Iterable[TaskInstanceId]) -> None:
        for id_ in ids:
            self._awaited.drop(id_)
            self._seen.pop(id_, None)
            self._due_s.pop(id_, None)

    async def _end(self, ends: Sequence[DependentEnd]) -> None:
        """Write these ends; a failure of one must not block the others."""
        if not ends:
            return
        try:
            left = await self._write(ends)
            if len(left) < len(ends):
                self._quarantine.others_were_handled()
        except (BadData, LockTaken) as error:
            if len(ends) == 1:
                self._quarantine.add_failed([ends[0].id], error)
                return
            for each in ends:
                await self._end([each])
            return
        if left:
            self._quarantine.add_failed(left, LockTaken("somebody else holds the rows of these tasks"))

    async def _write(self, ends: Sequence[DependentEnd]) -> set[TaskInstanceId]:
        """Write these; return those whose rows others have locked."""
        async with self._life.writing() as connection:
            with blaming_the_data():
                done = set(await dependencies.end(connection, ends, self._life.me.epoch))
        self._changed.set()
        self._drop(done)
        missing = {each.id for each in ends} - done
        if not missing:
            return set()
        held = {
            task.id for task in await self._life.database.read(dependencies.still_waiting, self._life.me.epoch, missing)
        }
        self._drop(missing - held)
        return held

    async def _evaluate_alone(self, id_: TaskInstanceId) -> bool:
        async with self._life.database.reading() as connection:
            waiting = await dependencies.still_waiting(connection, self._life.me.epoch, [id_])
            verdicts = await evaluate_all(connection, waiting)
        for task, (verdict, spans) in verdicts.items():
            if verdict.outcome is Outcome.WAIT:
                self._awaited.put(task.id, spans)
                self._schedule(task.id, verdict, boottime_s())
            elif await self._write([_end(task, verdict)]):
                raise LockTaken("somebody else holds its row")
            else:
                self._quarantine.others_were_handled()
        return True

    async def _refuse(self, id_: TaskInstanceId, reason: str) -> None:
        if await self._write([DependentEnd(id_, TaskState.FAILURE, f"it could not be evaluated: {reason}")]):
            raise LockTaken("somebody else holds its row")


def _some(ids: set[Id]) -> set[Id]:
    return set(islice(ids, BATCH))


def _end(task: WaitingTask, verdict: Verdict) -> DependentEnd:
    state = TaskState.SUCCESS if verdict.outcome is Outcome.SUCCESS else TaskState.FAILURE
    return DependentEnd(task.id, state, verdict.sentence, verdict.outputs)


def _log_quarantined(id_: TaskInstanceId, error: str, pause_s: float) -> None:
    log.warning(
        "dependent_task_waits",
        task_instance=id_,
        error=error,
        tries_again_in_s=pause_s,
        so="it stays unchanged; all others are evaluated",
    )
