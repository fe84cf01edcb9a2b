"""DEPENDENT tasks: judged by their owner when something ended for which they may wait, and now and then anyway.

They hold no thread and no process: a row that says since when they wait. While none waits anywhere, nothing is asked
and nobody is told of ends; the lookout of every master sees in its one statement whether any does.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence

import structlog

from dao import dependencies, nodes
from dao.dependencies import DependentEnd, Found, Span, WaitingTask
from master.driver import Driver
from model.choices import TimeoutStrategy
from model.errors import Fenced, Refused, ShoalError
from model.ids import TaskInstanceId, WorkflowCode
from model.logic.date_cycles import intervals
from model.logic.dependent import DependentItem, DependentParams, Outcome, State, Verdict, judge
from model.states import TaskState, WorkflowState
from model.zones import zone
from registry.life import Life
from registry.waiting import set_within

log = structlog.get_logger()

BATCH = 1_000
PAUSE_S = 0.05
"""At least between two looks: many ends at once are looked at once."""
T, W = TaskState, WorkflowState


class Dependents:
    """Judges the DEPENDENT tasks of one master; `wake` is set when something may have changed for them."""

    def __init__(self, life: Life, driver: Driver) -> None:
        self.wake = asyncio.Event()
        self._life = life
        self._driver = driver
        driver.dependent_began = self.wake.set

    async def run(self) -> None:
        """Judge until cancelled. Raises `Fenced`."""
        again_s: float | None = None
        while True:
            if again_s is None:
                await self.wake.wait()
                self.wake.clear()
            else:
                await set_within(self.wake, again_s)
            try:
                again_s = await self._look()
            except Fenced:
                raise
            except ShoalError as error:
                log.warning("dependents_not_judged", error=str(error))
                again_s = 1.0
            await asyncio.sleep(PAUSE_S)

    async def _look(self) -> float | None:
        """Judge all that wait, a batch at a time; seconds until time alone may change something, if it may."""
        last, soon = TaskInstanceId(0), []
        while True:
            async with self._life.database.reading() as connection:
                waiting = await dependencies.waiting(connection, self._life.me.epoch, BATCH, last)
            again_s = await self._judge(waiting) if waiting else None
            if again_s is not None:
                soon.append(again_s)
            if len(waiting) < BATCH:
                return min(soon, default=None)
            last = waiting[-1].id

    async def _judge(self, waiting: Sequence[WaitingTask]) -> float | None:
        """Seconds until time alone may change something for these."""
        async with self._life.database.reading() as connection:
            read = {task.id: _read(task) for task in waiting}
            names = {
                (item.project or task.project, item.workflow)
                for task in waiting
                if isinstance(params := read[task.id], DependentParams)
                for item in params.items()
                if isinstance(item.workflow, str)
            }
            codes = await dependencies.codes(connection, names)
            spans = _Spans(codes)
            for task in waiting:
                if isinstance(params := read[task.id], DependentParams):
                    spans.add(task, params)
            found = await dependencies.find(connection, spans.all()) if spans.all() else {}
        verdicts = {task: _verdict(task, read[task.id], spans, found) for task in waiting}
        ends = [
            DependentEnd(task.id, T.SUCCESS if verdict.outcome is Outcome.SUCCESS else T.FAILURE, verdict.sentence)
            for task, verdict in verdicts.items()
            if verdict.outcome is not Outcome.WAIT
        ]
        if ends:
            async with self._life.database.writing() as connection:
                await nodes.hold_alive(connection, self._life.me)
                await dependencies.end(connection, ends, self._life.me.epoch)
            self._driver.wake.set()
        soon = [60 * verdict.again_in_minutes for verdict in verdicts.values() if verdict.again_in_minutes is not None]
        return max(0.0, min(soon)) if soon else None


class _Spans:
    """Which spans the items of waiting tasks mean."""

    def __init__(self, codes: Mapping[tuple[str, str], WorkflowCode]) -> None:
        self._codes = codes
        self._of: dict[tuple[WaitingTask, DependentItem], list[Span]] = {}
        self._all: dict[Span, None] = {}

    def add(self, task: WaitingTask, params: DependentParams) -> None:
        for item in params.items():
            code = self._code(task, item)
            if code is not None:
                spans = [
                    Span(code, begin, end, item.task)
                    for begin, end in intervals(item.cycle, task.schedule_time, zone(task.time_zone))
                ]
                self._of[task, item] = spans
                self._all |= dict.fromkeys(spans)

    def all(self) -> list[Span]:
        return list(self._all)

    def of(self, task: WaitingTask, item: DependentItem) -> Sequence[Span]:
        if (task, item) not in self._of:
            raise Refused(f"{item} does not exist; save that workflow, or name another")
        return self._of[task, item]

    def _code(self, task: WaitingTask, item: DependentItem) -> WorkflowCode | None:
        if isinstance(item.workflow, int):
            return WorkflowCode(item.workflow)
        return self._codes.get((item.project or task.project, item.workflow))


def _read(task: WaitingTask) -> DependentParams | Refused:
    try:
        return DependentParams.read(json.loads(task.params))
    except Refused as error:
        return error


def _verdict(
    task: WaitingTask, params: DependentParams | Refused, spans: _Spans, found: Mapping[Span, Found]
) -> Verdict:
    if isinstance(params, Refused):
        return Verdict(Outcome.FAILURE, str(params))
    try:
        facts = {item: [_state(item, found.get(span)) for span in spans.of(task, item)] for item in params.items()}
    except Refused as error:
        return Verdict(Outcome.FAILURE, str(error))
    verdict = judge(params, facts, task.waited_s / 60)
    if verdict.outcome is not Outcome.WAIT or task.timeout_s is None:
        return verdict
    left_s = task.timeout_s - task.waited_s
    if left_s > 0:
        again = left_s / 60 if verdict.again_in_minutes is None else min(left_s / 60, verdict.again_in_minutes)
        return Verdict(verdict.outcome, verdict.sentence, again)
    if task.timeout_strategy == TimeoutStrategy.WARN:
        return verdict
    return Verdict(Outcome.FAILURE, f"it took longer than its timeout of {task.timeout_s / 60:g} min")


def _state(item: DependentItem, found: Found | None) -> State | None:
    """How what was found counts. What was stopped, killed or paused has not done what it was for."""
    if found is None:
        return None
    if item.task is None:
        if not found.state.is_final:
            return State.RUNNING
        return State.SUCCESS if found.state is W.SUCCESS else State.FAILURE
    if item.all_tasks:
        if not found.state.is_final:
            return State.RUNNING
        return State.FAILURE if found.any_failed or found.state in (W.PAUSE, W.STOP) else State.SUCCESS
    if found.task in (T.SUCCESS, T.FORCED_SUCCESS):
        return State.SUCCESS
    return State.FAILURE if found.state.is_final else State.RUNNING
