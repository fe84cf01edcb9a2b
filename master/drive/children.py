"""The children of a task that runs other workflows: SUB_PROCESS has one, DYNAMIC one for each tuple. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from master.drive.events import ResumeChild, StartChild
from master.drive.outcome import STOPPED
from model.definitions.plan import Plan, PlannedTask
from model.ids import TaskCode
from model.logic.dynamic import OUTPUT, DynamicParams, Tuples, own_output, tuples
from model.logic.sub_process import SubProcessParams
from model.parameters.large_values import has_large, joined, with_large
from model.parameters.outputs import OutParameters
from model.parameters.parameters import PARAMETERS_BYTES_MAX, Room, parse_parameters, replace_references
from model.runs.instances import AttemptEnd, ChildState, TaskAttempt
from model.runs.states import TaskState, WorkflowState
from model.time.run_time import RunTime

W = WorkflowState
_ENDS = {W.SUCCESS: TaskState.SUCCESS, W.FAILURE: TaskState.FAILURE, W.STOP: TaskState.KILL, W.PAUSE: TaskState.PAUSE}
"""DYNAMIC's output list is also named `dynamic.out.` plus the task's name, with `_` for each character that no
parameter's name has, so that two lists can be distinguished."""


@dataclass(slots=True)
class Children:
    """The children of one attempt: `started` have begun, `ended` are over, `paused` wait until they are resumed."""

    plan: Plan
    task: PlannedTask
    attempt: int
    params: tuple[Mapping[str, str], ...] | Tuples
    width: int
    started: set[int] = field(default_factory=set)
    ended: dict[int, tuple[WorkflowState, str | None]] = field(default_factory=dict)
    paused: set[int] = field(default_factory=set)
    failed: set[int] = field(default_factory=set)
    _next: int = 0

    @classmethod
    def of(cls, plan: Plan, code: TaskCode, attempt: int, values: Mapping[str, str], time: RunTime) -> Children:
        """Children of which none has begun. Their parameters are computed here, and are data to them. Raises `Refused`
        for lists that cannot be read."""
        task = plan.tasks[code]
        match task.logic:
            case SubProcessParams(params=params):
                own = {param.name: values[param.name] for param in task.inputs if param.name in values}
                room = Room("the parameters of its sub-workflow", PARAMETERS_BYTES_MAX)
                given = {
                    name: replace_references(time.put_into(text), values, room.take) for name, text in params.items()
                }
                return cls(plan, task, attempt, ({**own, **given},), 1)
            case DynamicParams(parallelism=width) as dynamic:
                found = tuples(dynamic, with_large(values, task.params), time.put_into)
                return cls(plan, task, attempt, found, width)
        raise AssertionError(f"{task.type} has no children")

    @classmethod
    def restored(cls, plan: Plan, attempt: TaskAttempt, rows: Iterable[ChildState], time: RunTime) -> Children:
        """Restore the children of an attempt from its row and theirs; `rows` may contain others. Raises `Refused`."""
        values = parse_parameters(attempt.values, "the values of its parameters")
        own = cls.of(plan, attempt.code, attempt.attempt, values, time)
        for child in rows:
            if (child.code, child.attempt) == (attempt.code, attempt.attempt) and 0 <= child.index < len(own.params):
                own.started.add(child.index)
                if child.state.is_final:
                    own.finished(child.index, child.state, child.outputs)
        return own

    @property
    def is_over(self) -> bool:
        """Whether none runs and none will begin."""
        return len(self.ended) == len(self.started) and (bool(self.failed) or len(self.ended) == len(self.params))

    def start_more(self) -> list[StartChild]:
        """Start as many as may run in parallel, in order; none after one has failed."""
        effects = []
        while not self.failed and len(self.started) - len(self.ended) < self.width and self._next < len(self.params):
            if self._next not in self.started:
                effects.append(self._start(self._next))
            self._next += 1
        return effects

    def finished(self, index: int, state: WorkflowState, outputs: str | None) -> None:
        """Record that a child has ended or paused; it may leave a pause again. A final end is not changed by late
        events, except that a failed child that was rerun with success no longer counts as failed. Unknown children are
        ignored."""
        if not 0 <= index < len(self.params):
            return
        if index in self.ended and not (state is W.SUCCESS and index in self.failed):
            return
        self.started.add(index)
        self.paused.discard(index)
        if state is W.PAUSE:
            self.paused.add(index)
        else:
            self.ended[index] = (state, outputs)
            if state is W.SUCCESS:
                self.failed.discard(index)
            else:
                self.failed.add(index)

    def resume(self, before: Sequence[ChildState]) -> list[ResumeChild | StartChild]:
        """Continue with the children of the previous attempt: those that succeeded stay, the others run again."""
        effects: list[ResumeChild | StartChild] = []
        for child in before:
            self.started.add(child.index)
            if child.state is W.SUCCESS:
                self.ended[child.index] = (child.state, child.outputs)
            effects.append(ResumeChild(self.task.code, self.attempt, child.index, child.attempt))
        return [*effects, *self.start_more()]

    def end(self, *, as_paused: bool, dry_run: bool = False) -> AttemptEnd | None:
        """The end of the attempt if nothing more begins; None while a child is neither over nor paused.

        With children that are paused or never began it ends as PAUSE if `as_paused`, else as KILL. An OUT parameter
        without a valid value fails it where outputs are strict, but not in a dry run.
        """
        if self.is_over:
            state, outputs, reason = self._outcome()
            outs = OutParameters.recorded_in(self.task.parameter_types)
            if state is TaskState.SUCCESS and outs.recorded() and not dry_run:
                said = outs.fault(parse_parameters(outputs or "{}", "outputs"))
                if said and outs.strict:
                    state, outputs, reason = TaskState.FAILURE, None, said
                reason = reason or said
            return AttemptEnd(self.task.code, self.attempt, state, outputs, reason)
        if len(self.started) > len(self.ended) + len(self.paused):
            return None
        if as_paused:
            return AttemptEnd(self.task.code, self.attempt, TaskState.PAUSE)
        return AttemptEnd(self.task.code, self.attempt, TaskState.KILL, reason="its workflow was stopped")

    def _outcome(self) -> tuple[TaskState, str | None, str]:
        """State, outputs and reason, once all are over."""
        states = {state for state, _ in self.ended.values()}
        for state in (W.FAILURE, W.STOP):
            if state in states:
                whys = [why for each, why in self.ended.values() if each is state]
                count = len(whys)
                what = "failed" if state is W.FAILURE else "was stopped"
                what = what if self._waits else "was not started"
                whose = f"{count} of {len(self.params)} children" if len(self.params) > 1 else self._whose
                why = next((f": {why}" for why in whys if why and why != STOPPED), "")
                return _ENDS[state], None, f"{whose} {what}{why}"
        if isinstance(self.task.logic, SubProcessParams):
            return TaskState.SUCCESS, self.ended[0][1], ""
        given = [parse_parameters(self.ended[index][1] or "{}", "outputs") for index in range(len(self.params))]
        listed = json.dumps(given, ensure_ascii=False)
        if has_large(listed):
            listed = joined(listed, PARAMETERS_BYTES_MAX // 2 - 1_000, self.task.name, OUTPUT)
        outputs = {OUTPUT: listed, own_output(self.task.name): listed}
        left_out = self.params.said() if isinstance(self.params, Tuples) and self.params.left_out else ""
        return TaskState.SUCCESS, json.dumps(outputs, ensure_ascii=False), left_out

    @property
    def _whose(self) -> str:
        return "the workflow it stands for" if self._waits else "the workflow that it starts"

    def _start(self, index: int) -> StartChild:
        self.started.add(index)
        logic = self.task.logic
        assert isinstance(logic, SubProcessParams | DynamicParams)
        version = logic.version if isinstance(logic, SubProcessParams) else None
        project = logic.project or self.plan.project
        given = (project, logic.workflow, version, self.params[index])
        return StartChild(self.task.code, self.attempt, index, *given, waits=self._waits)

    @property
    def _waits(self) -> bool:
        return not isinstance(self.task.logic, SubProcessParams) or self.task.logic.wait
