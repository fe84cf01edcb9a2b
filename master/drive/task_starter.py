"""How a task begins, by its type: queued for a worker, waiting in its master, with children, or over at once. Pure."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

from master.drive.attempts import Attempts
from master.drive.branch_choice import chosen_branch
from master.drive.children import Children
from master.drive.element_results import ElementResults
from master.drive.element_values import ElementValues
from master.drive.elements import Elements
from master.drive.events import Effect
from master.drive.outcome import Ends
from master.drive.parameters import Parameters, Seen
from model.definitions.each import EACH
from model.definitions.plan import Plan, PlannedTask
from model.errors import Refused
from model.ids import TaskCode
from model.logic.approval import ApprovalParams, question_of
from model.logic.dependent import DependentParams
from model.logic.dynamic import DynamicParams
from model.logic.sub_process import SubProcessParams
from model.logic.switch import SwitchParams
from model.parameters.large_values import with_large
from model.parameters.local import json_typed
from model.parameters.parameters import parse_parameters
from model.runs.elements import KEPT, element_code, index_of, is_element, task_of
from model.runs.instances import ChildState, TaskAttempt
from model.runs.ready_tasks import Progress
from model.runs.states import TaskState, WaitReason

T = TaskState


class Begun(NamedTuple):
    """An attempt that begins, and its children or elements with their requests, if any."""

    attempt: TaskAttempt
    children: Children | Elements | None = None
    asked: Sequence[Effect] = ()


class TaskStarter:
    """Begins the tasks of one run.

    Args:
        dry_run: whether DEPENDENT and APPROVAL tasks succeed at once.
    """

    __slots__ = ("_attempts", "_dry_run", "_elements", "_ends", "_parameters", "_plan", "_progress", "_rows")

    def __init__(
        self,
        plan: Plan,
        attempts: Attempts,
        parameters: Parameters,
        progress: Progress,
        ends: Ends,
        *,
        dry_run: bool,
    ) -> None:
        self._plan = plan
        self._attempts = attempts
        self._parameters = parameters
        self._progress = progress
        self._ends = ends
        self._dry_run = dry_run
        self._elements: dict[TaskCode, ElementValues] = {}
        self._rows: dict[TaskCode, dict[int, TaskAttempt]] = {}
        """For tasks with elements: the last valid attempt of each element, by its row."""

    def begin(self, code: TaskCode, resumed: Sequence[ChildState]) -> Begun:
        """Begin a ready task. It fails at once if its parameters do not suit its type.

        `resumed` are children of its previous attempt, which continue under this one.
        """
        task = self._plan.tasks[code]
        self._attempts.retries.setdefault(code, 0)
        try:
            match task.logic:
                case None if task.each is not None:
                    return self._begin_elements(code)
                case None:
                    return Begun(self.queue(code, WaitReason.DELAY, task.delay_time))
                case DependentParams() if not self._dry_run:
                    values = self._parameters.as_text(code)
                    number = self._attempts.begin(code, rests=True)
                    return Begun(TaskAttempt(code, number, T.RUNNING_EXECUTION, values=values))
                case ApprovalParams() as params if not self._dry_run:
                    values = self._parameters.as_text(code)
                    question_of(params, parse_parameters(values, "its parameters"), self._parameters.time)
                    number = self._attempts.begin(code, rests=True)
                    due = params.timeout
                    return Begun(TaskAttempt(code, number, T.RUNNING_EXECUTION, values=values, due_in_minutes=due))
                case SubProcessParams() | DynamicParams():
                    return self._begin_children(code, resumed)
                case _:
                    branch = chosen_branch(self._plan, code, lambda: self._for_cases(code), self._has_succeeded)
                    # For people who ask why it chose this branch.
                    seen = self._parameters.seen(code) if isinstance(task.logic, SwitchParams) else Seen("{}")
        except Refused as error:
            retries = self._attempts.retries[code]
            return Begun(TaskAttempt(code, self._attempts.begin(code), T.FAILURE, retries, reason=str(error)))
        number, names = self._attempts.begin(code), tuple(sorted(seen.json))
        return Begun(TaskAttempt(code, number, T.SUCCESS, branch=branch, values=seen.text, json_names=names))

    def queue(self, code: TaskCode, reason: WaitReason | None = None, minutes: float = 0) -> TaskAttempt:
        """The next attempt of a task or an element, for a worker, after these minutes."""
        # It may be refused, and then no number is used.
        if is_element(code):
            values, names = self._elements[task_of(code)].seen(index_of(code))
        else:
            values, names = self._parameters.seen(code)
        return TaskAttempt(
            code,
            self._attempts.begin(code, rests=minutes > 0 or self._plan.task(code).waits),
            T.DELAY_EXECUTION if minutes else T.QUEUED,
            self._attempts.retries[code],
            values=values,
            json_names=tuple(sorted(names)) if names else (),
            due_in_minutes=minutes,
            wait_reason=reason if minutes else None,
        )

    def _begin_elements(self, code: TaskCode) -> Begun:
        """Begin a task with elements: those that succeeded by their rows stay, if their values are the same."""
        values = ElementValues.of(self._plan.tasks[code], self._parameters)
        elements = self._elements_of(code, self._attempts.next(code), values)
        for index, row in self._rows.pop(code, {}).items():
            if row.state in KEPT and elements.counts(index, _value_in(row)):
                elements.ended(index, row.state, row.outputs)
        number = self._attempts.begin(code, rests=True)
        attempt = TaskAttempt(code, number, T.RUNNING_EXECUTION, values=values.stored)
        return Begun(attempt, elements, elements.start_more())

    def without_elements(self, attempts: Iterable[TaskAttempt]) -> list[TaskAttempt]:
        """Split off the attempts of elements, and keep them for the moment when their tasks begin or resume."""
        others = []
        for each in attempts:
            if is_element(each.code):
                self._rows.setdefault(task_of(each.code), {})[index_of(each.code)] = each
            else:
                others.append(each)
        return others

    def restored_children(self, attempt: TaskAttempt, rows: Iterable[ChildState]) -> Children:
        """See `Children.restored`."""
        return Children.restored(self._plan, attempt, rows, self._parameters.time)

    def restored_elements(self, row: TaskAttempt) -> tuple[Elements, list[TaskAttempt]]:
        """The elements of a task in progress, and the last attempts of those that have begun. Raises `Refused`.

        All of these count as in progress, since the ends in their rows have not been handled.
        """
        values = ElementValues.restored(self._plan.tasks[row.code], self._parameters, row.values)
        elements, found = self._elements_of(row.code, row.attempt, values), []
        for index, each in self._rows.pop(row.code, {}).items():
            if elements.counts(index, _value_in(each)):
                elements.under_way(index)
                self._attempts.put_in_flight(each.code, rests=bool(each.due_in_minutes))
                found.append(each)
        return elements, found

    def _elements_of(self, code: TaskCode, number: int, values: ElementValues) -> Elements:
        task = self._plan.tasks[code]
        self._elements[code] = values
        named = () if values.elements else self._plan.values_named_of(code)
        return Elements(
            task,
            number,
            values,
            lambda index: self._begin_element(task, index),
            ElementResults(self._plan, task, self._parameters, named),
        )

    def _begin_element(self, task: PlannedTask, index: int) -> TaskAttempt:
        code = element_code(task.code, index)
        self._attempts.retries.setdefault(code, 0)
        try:
            return self.queue(code, WaitReason.DELAY, task.delay_time)
        except Refused as error:
            return TaskAttempt(code, self._attempts.skip(code), T.FAILURE, reason=str(error))

    def _begin_children(self, code: TaskCode, resumed: Sequence[ChildState]) -> Begun:
        # Stored in the row: a later owner, who received other ends in between, must see the same.
        values = self._with_builtins(code) if self._plan.tasks[code].uses_builtins else self._parameters.values(code)
        children = Children.of(self._plan, code, self._attempts.next(code), values, self._parameters.time)
        number = self._attempts.begin(code, rests=True)
        attempt = TaskAttempt(code, number, T.RUNNING_EXECUTION, values=json.dumps(values, ensure_ascii=False))
        return Begun(attempt, children, children.resume(resumed) if resumed else children.start_more())

    def _with_builtins(self, code: TaskCode) -> dict[str, str]:
        return {**self._parameters.builtins(), **self._parameters.values(code)}

    def _for_cases(self, code: TaskCode) -> tuple[dict[str, str], Collection[str]]:
        values, names = self._parameters.with_json(code)
        values = with_large(values, self._plan.tasks[code].params)
        return {**self._parameters.builtins(), **values}, {*names, *json_typed(self._plan.tasks[code].parameter_types)}

    def _has_succeeded(self, code: TaskCode) -> bool:
        """Whether CONDITIONS count the task as succeeded. A task out of scope that did not fail counts too."""
        return code in self._progress.done and code not in self._progress.skipped and code not in self._ends.failed


def _value_in(row: TaskAttempt) -> str | None:
    """The element in the row of an attempt; None if somebody has damaged it."""
    try:
        return str(json.loads(row.values)[EACH])
    except (ValueError, TypeError, KeyError, RecursionError):
        return None
