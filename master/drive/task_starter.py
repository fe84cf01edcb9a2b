"""How a task begins, by its type: queued for a worker, waiting in its master, with children, or over at once. Pure."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import NamedTuple

from master.drive.attempts import Attempts
from master.drive.children import Children
from master.drive.events import Effect
from master.drive.logic import chosen_branch
from master.drive.outcome import Ends
from master.drive.parameters import Parameters
from model.definitions.plan import Plan
from model.errors import Refused
from model.ids import TaskCode
from model.logic.dependent import DependentParams
from model.logic.dynamic import DynamicParams
from model.logic.sub_process import SubProcessParams
from model.logic.switch import SwitchParams
from model.runs.instances import ChildState, TaskAttempt
from model.runs.ready_tasks import Progress
from model.runs.states import TaskState, WaitReason

T = TaskState


class Begun(NamedTuple):
    """An attempt that begins, and its children, with what is asked of them, if its type has any."""

    attempt: TaskAttempt
    children: Children | None = None
    asked: Sequence[Effect] = ()


class TaskStarter:
    """Begins the tasks of one run.

    Args:
        dry_run: whether DEPENDENT tasks succeed at once.
    """

    __slots__ = ("_attempts", "_dry_run", "_ends", "_parameters", "_plan", "_progress")

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

    def begin(self, code: TaskCode, resumed: Sequence[ChildState]) -> Begun:
        """Begin a task whose turn it is. It fails at once if its parameters do not suit its type.

        `resumed` are children of its previous attempt, which continue under this one.
        """
        task = self._plan.tasks[code]
        self._attempts.retries.setdefault(code, 0)
        try:
            match task.logic:
                case None:
                    return Begun(self.queue(code, WaitReason.DELAY, task.delay_time))
                case DependentParams() if not self._dry_run:
                    values = self._parameters.as_text(code)
                    number = self._attempts.begin(code, rests=True)
                    return Begun(TaskAttempt(code, number, T.RUNNING_EXECUTION, values=values))
                case SubProcessParams() | DynamicParams():
                    return self._begin_children(code, resumed)
                case _:
                    branch = chosen_branch(self._plan, code, lambda: self._with_builtins(code), self._has_succeeded)
                    # For people who ask why it chose this branch.
                    seen = self._parameters.as_text(code) if isinstance(task.logic, SwitchParams) else "{}"
        except Refused as error:
            retries = self._attempts.retries[code]
            return Begun(TaskAttempt(code, self._attempts.begin(code), T.FAILURE, retries, reason=str(error)))
        return Begun(TaskAttempt(code, self._attempts.begin(code), T.SUCCESS, branch=branch, values=seen))

    def queue(self, code: TaskCode, reason: WaitReason | None = None, minutes: float = 0) -> TaskAttempt:
        """The next attempt, for a worker, after these minutes."""
        values = self._parameters.as_text(code)  # it may be refused, and then no number is used
        return TaskAttempt(
            code,
            self._attempts.begin(code, rests=minutes > 0),
            T.DELAY_EXECUTION if minutes else T.QUEUED,
            self._attempts.retries[code],
            values=values,
            due_in_minutes=minutes,
            wait_reason=reason if minutes else None,
        )

    def _begin_children(self, code: TaskCode, resumed: Sequence[ChildState]) -> Begun:
        # Stored in the row: a later owner, who received other ends in between, must see the same.
        values = self._with_builtins(code) if self._plan.tasks[code].uses_builtins else self._parameters.values(code)
        children = Children.of(self._plan, code, self._attempts.next(code), values)
        number = self._attempts.begin(code, rests=True)
        attempt = TaskAttempt(code, number, T.RUNNING_EXECUTION, values=json.dumps(values, ensure_ascii=False))
        return Begun(attempt, children, children.resume(resumed) if resumed else children.start_more())

    def _with_builtins(self, code: TaskCode) -> dict[str, str]:
        return {**self._parameters.builtins(), **self._parameters.values(code)}

    def _has_succeeded(self, code: TaskCode) -> bool:
        """Whether CONDITIONS count the task as succeeded. So does one that is out of scope and did not fail."""
        return code in self._progress.done and code not in self._progress.skipped and code not in self._ends.failed
