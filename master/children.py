"""The children of a task that stands for other workflows: SUB_PROCESS has one, DYNAMIC one for each tuple. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from master.events import Child, ResumeChild, StartChild
from master.plan import Plan, PlannedTask
from master.summary import STOPPED
from model.ids import TaskCode
from model.local_params import NAME
from model.logic.dynamic import DynamicParams, Tuples, tuples
from model.logic.sub_process import SubProcessParams
from model.parameters import parse_parameters, replace_references
from model.states import TaskState, WorkflowState

W = WorkflowState
_ENDS = {W.SUCCESS: TaskState.SUCCESS, W.FAILURE: TaskState.FAILURE, W.STOP: TaskState.KILL, W.PAUSE: TaskState.PAUSE}
DYNAMIC_OUTPUT = "dynamic.out"
"""Under this name DYNAMIC gives its list; and under `dynamic.out.` and its own name, where that can be a name, so that
two of them can be told apart."""


@dataclass(slots=True)
class Children:
    """Those of one attempt: `started` are begun, `ended` over for good, `paused` rest until somebody resumes them."""

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
    def of(cls, plan: Plan, code: TaskCode, attempt: int, values: Mapping[str, str]) -> Children:
        """None of them begun. Raises `Refused` for lists that cannot be read."""
        task = plan.tasks[code]
        match task.logic:
            case SubProcessParams(params=params):
                own = {param.name: values[param.name] for param in task.inputs if param.name in values}
                given = {name: replace_references(text, values, _as_it_is) for name, text in params.items()}
                return cls(plan, task, attempt, ({**own, **given},), 1)
            case DynamicParams(parallelism=width) as dynamic:
                return cls(plan, task, attempt, tuples(dynamic, values), width)
        raise AssertionError(f"{task.type} has no children")

    @property
    def is_over(self) -> bool:
        """Whether nothing of them runs, and nothing more will begin."""
        return len(self.ended) == len(self.started) and (bool(self.failed) or len(self.ended) == len(self.params))

    @property
    def runs(self) -> bool:
        """Whether any of them is neither over nor paused."""
        return len(self.started) > len(self.ended) + len(self.paused)

    def start_more(self) -> list[StartChild]:
        """Begin as many as may run side by side, in order; none after one has failed."""
        effects = []
        while not self.failed and len(self.started) - len(self.ended) < self.width and self._next < len(self.params):
            if self._next not in self.started:
                effects.append(self._start(self._next))
            self._next += 1
        return effects

    def finished(self, index: int, state: WorkflowState, outputs: str | None) -> None:
        """A child has come to an end, which it may leave again if it is a pause. An end stays one, whatever is told
        late; but one that somebody ran again, with success, has not failed any more. What is no child is not heard."""
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

    def adopt(self, child: Child) -> None:
        """Take in a row."""
        if not 0 <= child.index < len(self.params):
            return
        self.started.add(child.index)
        if child.state.is_final:
            self.finished(child.index, child.state, child.outputs)

    def resume(self, before: Sequence[Child]) -> list[ResumeChild | StartChild]:
        """Go on with the children of the attempt before: those that succeeded stay, the others run again."""
        effects: list[ResumeChild | StartChild] = []
        for child in before:
            self.started.add(child.index)
            if child.state is W.SUCCESS:
                self.ended[child.index] = (child.state, child.outputs)
            effects.append(ResumeChild(self.task.code, self.attempt, child.index, child.attempt))
        return [*effects, *self.start_more()]

    def end(self) -> tuple[TaskState, str, str | None]:
        """What the task came to: state, reason, outputs."""
        states = {state for state, _ in self.ended.values()}
        for state in (W.FAILURE, W.STOP):
            if state in states:
                whys = [why for each, why in self.ended.values() if each is state]
                count = len(whys)
                what = "failed" if state is W.FAILURE else "was stopped"
                whose = (
                    f"{count} of {len(self.params)} children" if len(self.params) > 1 else "the workflow it stands for"
                )
                why = next((f": {why}" for why in whys if why and why != STOPPED), "")
                return _ENDS[state], f"{whose} {what}{why}", None
        if isinstance(self.task.logic, SubProcessParams):
            return TaskState.SUCCESS, "", self.ended[0][1]
        given = [parse_parameters(self.ended[index][1] or "{}", "outputs") for index in range(len(self.params))]
        listed = json.dumps(given, ensure_ascii=False)
        outputs = {DYNAMIC_OUTPUT: listed}
        if re.fullmatch(NAME, own := f"{DYNAMIC_OUTPUT}.{self.task.name}"):
            outputs[own] = listed
        left_out = self.params.said() if isinstance(self.params, Tuples) and self.params.left_out else ""
        return TaskState.SUCCESS, left_out, json.dumps(outputs, ensure_ascii=False)

    def _start(self, index: int) -> StartChild:
        self.started.add(index)
        logic = self.task.logic
        assert isinstance(logic, SubProcessParams | DynamicParams)
        version = logic.version if isinstance(logic, SubProcessParams) else None
        project = logic.project or self.plan.project
        return StartChild(self.task.code, self.attempt, index, project, logic.workflow, version, self.params[index])


def _as_it_is(_name: str, value: str) -> str:
    return value
