"""What a DEPENDENT task is to do, given the rows of what it awaits.

A row that cannot be read ends only its own task, with a sentence that gives the reason.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta

from dao.definitions import definitions
from dao.definitions.definitions import Whereabouts
from dao.postgres.pool import AsyncConnection
from dao.runs import dependencies
from dao.runs.dependencies import Before, Found, Span, WaitingTask
from model.choices import TimeoutStrategy
from model.cluster.means import is_passing
from model.errors import Refused, Unavailable
from model.ids import WorkflowCode
from model.logic.date_offsets import LAST
from model.logic.dependent import Asked, DependentItem, DependentParams, Outcome, State, Verdict, evaluate, unmet
from model.parameters.parameters import PARAMETERS_BYTES_MAX, Room, parse_parameters
from model.runs.states import TaskState, WorkflowState
from model.time.durations import said_duration
from model.time.zones import zone

T, W = TaskState, WorkflowState
AGAIN_IN_MINUTES = 0.1
"""When a task is evaluated again if this machine was short of a resource."""
_SECOND = timedelta(seconds=1)
Spans = Mapping[DependentItem, Sequence[Span]]
"""The span in which each item of a task searches."""


async def evaluate_all(
    connection: AsyncConnection, waiting: Collection[WaitingTask]
) -> dict[WaitingTask, tuple[Verdict, Sequence[Span]]]:
    """For each of these tasks what it is to do, and all spans in which it searches."""
    read = {task: _read(task) for task in waiting}
    names = {
        (item.project or task.project, item.workflow)
        for task, params in read.items()
        if isinstance(params, DependentParams)
        for item in params.items()
        if isinstance(item.workflow, str)
    }
    codes = await dependencies.codes(connection, names) if names else {}
    spans = {task: _spans(task, params, codes) for task, params in read.items()}
    numbers = {
        WorkflowCode(item.workflow)
        for of in spans.values()
        if isinstance(of, Mapping)
        for item in of
        if isinstance(item.workflow, int)
    }
    homes = await definitions.whereabouts(connection, numbers) if numbers else {}
    every = dict.fromkeys(
        span
        for of in spans.values()
        if not isinstance(of, Refused | Unavailable)
        for each in of.values()
        for span in each
    )
    dated = [span for span in every if span.dated]
    coming = await dependencies.coming(connection, dated) if dated else set()
    found = await dependencies.find(connection, list(every)) if every else {}
    absent = {
        span: None
        for of in spans.values()
        if isinstance(of, Mapping)
        for item, each in of.items()
        if item.at not in (None, LAST)
        for span in each
        if span not in found
    }
    before = await dependencies.before(connection, list(absent)) if absent else {}
    there = _There(found, before, coming)
    return {task: _evaluated(task, read[task], spans[task], there, homes) for task in waiting}


def _read(task: WaitingTask) -> DependentParams | Refused:
    try:
        return DependentParams.read(json.loads(task.params))
    except Refused as error:
        return error
    except ValueError as error:
        return Refused(f"its parameters are no JSON ({error}); repair the definition, then repeat the task")


def _spans(
    task: WaitingTask, params: DependentParams | Refused, codes: Mapping[tuple[str, str], WorkflowCode]
) -> Spans | Refused | Unavailable:
    if isinstance(params, Refused):
        return params
    if task.schedule_time is None:
        return Refused("the schedule time of its run is in no calendar; start it for another date")
    try:
        of_zone = zone(task.time_zone)
        return {
            item: [
                Span(
                    *(_code(task, item, codes), begin, end, item.task, item.task is None or item.all_tasks),
                    passes=item.pass_outputs,
                    dated=item.at == LAST,
                )
                for begin, end in item.spans(task.schedule_time, of_zone)
                if item.at != LAST or task.is_dated
            ]
            for item in params.items()
        }
    except Refused as error:
        return error
    except Exception as error:  # noqa: BLE001 - an unexpected row must not stop the others
        if is_passing(error):
            return Unavailable(f"its master is short of something: {error}")
        return Refused(
            f"the dates that it reads cannot be computed ({type(error).__name__}: {error}); please report it"
        )


def _code(task: WaitingTask, item: DependentItem, codes: Mapping[tuple[str, str], WorkflowCode]) -> WorkflowCode:
    if isinstance(item.workflow, int):
        return WorkflowCode(item.workflow)
    code = codes.get((item.project or task.project, item.workflow))
    if code is None:
        if item.project not in (None, task.project):
            raise Refused(f"{unmet(item)}; ask somebody with a role in that project")
        raise Refused(f"{item} does not exist; save that workflow, or name another")
    return code


def _is_elsewhere(task: WaitingTask, item: DependentItem, homes: Mapping[WorkflowCode, Whereabouts]) -> bool:
    """Whether an item is of another project than the task; so is a workflow that was deleted, of whatever project."""
    if isinstance(item.workflow, str):
        return item.project not in (None, task.project)
    home = homes.get(WorkflowCode(item.workflow))
    return home is None or home.project != task.project


def _evaluated(
    task: WaitingTask,
    params: DependentParams | Refused,
    spans: Spans | Refused | Unavailable,
    there: _There,
    homes: Mapping[WorkflowCode, Whereabouts],
) -> tuple[Verdict, Sequence[Span]]:
    if isinstance(params, Refused) or isinstance(spans, Refused):
        return Verdict(Outcome.FAILURE, str(spans)), ()
    if isinstance(spans, Unavailable):
        return _within_timeout(task, Verdict(Outcome.WAIT, str(spans), AGAIN_IN_MINUTES)), ()
    facts = {item: [there.state(item, span) for span in of] for item, of in spans.items()}
    elsewhere = [item for item in facts if _is_elsewhere(task, item, homes)]
    asked = {item: there.asked(task, item, of[0]) for item, of in spans.items() if item.at is not None and of}
    verdict = _within_timeout(task, evaluate(params, facts, task.waited_s / 60, elsewhere, asked))
    if verdict.outcome is Outcome.SUCCESS:
        verdict = _with_outputs(verdict, spans, facts, there.found)
    return verdict, [awaited for of in spans.values() for span in of for awaited in there.awaited(span)]


@dataclass(frozen=True, slots=True)
class _There:
    """What was found in spans, the latest runs before empty ones, and those for which a command waits."""

    found: Mapping[Span, Found]
    before: Mapping[Span, Before]
    coming: Collection[Span]

    def state(self, item: DependentItem, span: Span) -> State | None:
        """The state that counts in a span."""
        if span in self.coming:
            return State.RUNNING
        found = self.found.get(span)
        return State.SUCCESS if found is None and span.dated else _state(item, found)

    def awaited(self, span: Span) -> Sequence[Span]:
        """The spans in which an end may change the verdict. Of all earlier dates that is the last one's."""
        if not span.dated:
            return (span,)
        found = self.found.get(span)
        return () if found is None else (replace(span, begin=found.schedule_time, end=found.schedule_time + _SECOND),)

    def asked(self, task: WaitingTask, item: DependentItem, span: Span) -> Asked:
        """What an item asks for and what there is, in the calendar of its run."""
        of_zone = zone(task.time_zone)
        found, before = self.found.get(span), self.before.get(span)
        time = found.schedule_time if span.dated and found else span.begin
        shown = time.astimezone(of_zone).isoformat(" ", "seconds")
        if span in self.coming:
            until = span.end.astimezone(of_zone).isoformat(" ", "seconds")
            return Asked(f"a date before {until}", "a start of its schedule is not handled yet")
        if found is not None:
            of_task = "" if item.task is None or item.all_tasks else f", its task {found.task or 'has not begun'}"
            return Asked(shown, f"run {found.id} is {found.state}{of_task}")
        if before is None:
            return Asked(shown, "it has no run before that")
        at = before.schedule_time.astimezone(of_zone).isoformat(" ", "seconds")
        return Asked(shown, f"its latest run before is {before.id}, for {at}, {before.state}")


def _with_outputs(
    verdict: Verdict, spans: Spans, facts: Mapping[DependentItem, Sequence[State | None]], found: Mapping[Span, Found]
) -> Verdict:
    """A success with the outputs that its items pass on: of one name the later one, in the order of items and dates."""
    given: dict[str, str] = {}
    try:
        for item, of in spans.items():
            for span, state in zip(of, facts[item], strict=True):
                if item.pass_outputs and state is State.SUCCESS and (there := found.get(span)) and there.outputs:
                    given |= parse_parameters(there.outputs, f"the outputs of {item}")
        room = Room("the outputs that it passes on", PARAMETERS_BYTES_MAX)
        for name, value in given.items():
            room.take(name, value)
    except Refused as error:
        return Verdict(Outcome.FAILURE, str(error))
    return replace(verdict, outputs=json.dumps(given, ensure_ascii=False)) if given else verdict


def _within_timeout(task: WaitingTask, verdict: Verdict) -> Verdict:
    if verdict.outcome is not Outcome.WAIT or task.timeout_s is None:
        return verdict
    left_s = task.timeout_s - task.waited_s
    if left_s > 0:
        again = left_s / 60 if verdict.again_in_minutes is None else min(left_s / 60, verdict.again_in_minutes)
        return Verdict(verdict.outcome, verdict.sentence, again)
    if task.timeout_strategy == TimeoutStrategy.WARN:
        return verdict
    late = f"it took longer than its timeout of {said_duration(task.timeout_s)}"
    return Verdict(Outcome.FAILURE, f"{late}: {verdict.sentence}")


def _state(item: DependentItem, found: Found | None) -> State | None:
    """The state that counts for what was found. A run that was stopped, killed or paused has not succeeded, nor
    has one that an EXECUTE_TASK limited to some tasks while others were not done."""
    if found is None:
        return None
    if item.task is None:
        if not found.state.is_final:
            return State.RUNNING
        return State.SUCCESS if found.state is W.SUCCESS and found.is_whole else State.FAILURE
    if item.all_tasks:
        if not found.state.is_final:
            return State.RUNNING
        has_failed = found.any_failed or not found.is_whole or found.state in (W.PAUSE, W.STOP)
        return State.FAILURE if has_failed else State.SUCCESS
    if found.task in (T.SUCCESS, T.FORCED_SUCCESS):
        return State.SUCCESS
    return State.FAILURE if found.state.is_final else State.RUNNING
