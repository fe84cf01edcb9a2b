"""Runs and attempts of tasks, as they are answered."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Self

from pydantic import Field

from dao.runs.rows import CommandFate, Elements, OlderBelow, Run, TaskRun
from model.accounts.rights import is_seen
from model.choices import StartWhen
from model.runs.elements import index_of, is_element, task_of
from model.runs.looks import Looks
from model.runs.progress import Progress
from model.runs.states import NotBegun, WorkflowState
from service.fields import Answer, Id

if TYPE_CHECKING:
    from dao.runs.relations import ChildRun, FailedBelow
    from dao.tasks.attempt_listings import Attempt
    from model.definitions.workflow import TaskSpec

Visible = Collection[str] | None
"""The projects whose objects a caller may see; None = all."""


_NOT_SHOWN = {"execution_type", "scope", "parent_code", "parent_project", "started_by_project"}


class RunAnswer(Answer, Run, without=_NOT_SHOWN):
    """A run in a list.

    `took_s` is the time in which its tasks, or those of its child runs, ran on workers; `elapsed_s` the time from its
    start to its end; both still grow while it runs. One with `ended_at` is in a final state, whatever its name.
    `schedule_time` is the time that the run is for, to be shown in `time_zone`. `requested_state` is a pause or stop
    that its master has not handled yet. `parent_id` is the run of whose task (`parent_task`) it is a child, both left
    out where the caller may not see that run. `dates_left` are the dates of its backfill that begin when it has
    succeeded. `serial_key` is the key of its line: of the runs of one key of a workflow one runs at a time. From
    `interval_start` to `interval_end` is the interval of its schedule: both are left out if it has none. `ending_as` is
    of a run that cleans up (`teardown`, `on_exit`): the state in which it ends then. `started_by_id` is the run whose
    task (`started_by_task`) started this one without waiting for it.
    """

    master_id: Id | None = None  # type: ignore[assignment]  # `fields` may leave it out

    @classmethod
    def of(cls, run: Run, visible: Visible) -> Self:
        """The answer for a run to one who sees these projects; it needs no check: a page has many."""
        answer = cls.model_construct(**run_fields(run, visible))
        assert isinstance(answer, cls)
        return answer


class ListedRun(RunAnswer):
    """A run in a list, and when that was asked for, how far it is.

    Of its `tasks_total` tasks (left out if its definition is gone) `tasks_done` have succeeded. If it has not ended,
    `usual_s` is what runs of its workflow usually take; if it runs, `left_s` is an estimate of the time left.
    """

    usual_s: float | None = None
    left_s: float | None = None
    tasks_total: int | None = None
    tasks_done: int | None = None


PROGRESS = frozenset(ListedRun.model_fields) - frozenset(RunAnswer.model_fields)
"""The fields that a list has only when they are asked for."""


class ProgressAnswer(Answer):
    """How far a task is, as it reported itself: `done` of `total`; without a total, `done` is in percent."""

    done: float
    total: float | None = None
    text: str = ""
    percent: float

    @classmethod
    def of(cls, progress: Progress) -> ProgressAnswer:
        percent = round(progress.percent, 2)
        return cls(done=progress.done, total=progress.total, text=progress.text, percent=percent)

    @property
    def report(self) -> Progress:
        return Progress(self.done, self.total, self.text)


class FailedBelowAnswer(Answer):
    """The task of a child run for which a task failed."""

    run_id: Id
    task_id: Id
    task: str
    reason: str | None = None

    @classmethod
    def of(cls, failed: FailedBelow) -> FailedBelowAnswer:
        return cls(run_id=failed.run, task_id=failed.id, task=failed.task, reason=failed.reason)


class LooksAnswer(Answer, Looks):
    """What a task that waits has found: nothing, in `count` looks. The last one, `ago_s` seconds ago, `said` why."""


class ElementsAnswer(Answer, Elements):
    """How far a task with `each` is: of its `total` elements so many are `done` (succeeded or skipped), have failed,
    were killed, run, or wait to run; the others have not begun. `first_failed` and `first_queued` are the indexes of
    the first of those."""


class TaskAnswer(Answer, TaskRun, without={"worker_address"}):
    """One attempt of a task.

    `due_in_s` is the rest of a wait for `wait_reason` (<= 0: it is over). One that is not `valid` counts no more: it
    belongs to an earlier execution of the same run, or its task is to run again. `branch` are the codes of the tasks
    that it chose, `choice` says why. `left_s` is an estimate of the time left. `stands_for` are
    the child runs that it represents, in words. A stream runs until it is stopped; `is_ready` is what its readiness
    probe found, left out without one. `looks` is what a task that waits has found so far.
    `elements` says how far a task with `each` is; an attempt of one of them has its index, `element`.
    """

    worker_id: Id | None = None
    worker: str | None = None  # type: ignore[assignment]
    branch: list[Id] | None = None  # type: ignore[assignment]
    progress: ProgressAnswer | None = None  # type: ignore[assignment]
    left_s: float | None = None
    choice: str | None = None
    failed_below: FailedBelowAnswer | None = None
    stands_for: str | None = None
    is_stream: bool = False
    looks: LooksAnswer | None = None
    elements: ElementsAnswer | None = None
    element: int | None = None
    counts: bool = True
    """Whether it is of the present execution of the run: the valid attempt, or one that it replaces."""

    @classmethod
    def of(cls, task: TaskRun, **more: Any) -> TaskAnswer:
        """The answer for an attempt, with `more` fields; it needs no check either."""
        fields = {name: getattr(task, name) for name in cls.model_fields if hasattr(task, name)}
        branch = None if task.branch is None else sorted(task.branch)
        progress = None if task.progress is None else ProgressAnswer.of(task.progress)
        looks = None if task.looks is None else LooksAnswer.model_validate(task.looks)
        fields |= {"worker_id": task.worker, "worker": task.worker_address, "branch": branch, "progress": progress}
        fields |= {"looks": looks, "code": task_of(task.code)}
        if is_element(task.code):
            fields["element"] = index_of(task.code)
        return cls.model_construct(**{**fields, **more})


class AttemptAnswer(TaskAnswer):
    """One attempt of a task, and whose it is. `workflow` and `project` are left out if the workflow is gone.

    `values` is what each `${name}` stands for in it, a JSON object without secrets; only what shows one attempt has it.
    """

    run_id: Id
    workflow_code: Id
    workflow: str | None = None
    project: str | None = None
    values: str | None = None

    @classmethod
    def of_attempt(cls, attempt: Attempt) -> AttemptAnswer:
        """The answer for an attempt in a list across runs."""
        whose = {name: getattr(attempt, name) for name in ("workflow_code", "workflow", "project")}
        answer = cls.of(attempt.task, run_id=attempt.run, **whose)
        assert isinstance(answer, cls)
        return answer


class TaskNotBegun(Answer):
    """A task without an attempt, and the tasks that must end before it begins, or for which it never does. `unmet` says
    for which start rule it is skipped, or which task before it skipped itself, if it is for one. One that `closes`
    cleans up when all else is over."""

    name: str
    state: NotBegun
    missing: Sequence[str]
    unmet: str | None = None
    closes: bool = False


class ChildAnswer(Answer):
    """A child run of a task (`task_code`)."""

    id: Id
    workflow: str | None = None
    state: WorkflowState
    task_code: Id

    @classmethod
    def of(cls, child: ChildRun) -> ChildAnswer:
        return cls(id=child.id, workflow=child.workflow, state=child.state, task_code=child.code)


class TaskOrder(Answer):
    """A task of a workflow, those that it comes after, and its start rule if that is not the default."""

    name: str
    after: Sequence[str]
    start_when: StartWhen | None = None

    @classmethod
    def of(cls, task: TaskSpec) -> TaskOrder:
        """The answer for a task of a definition."""
        rule = None if task.start_when is StartWhen.ALL_SUCCESS else task.start_when
        return cls(name=task.name, after=task.after, start_when=rule)


class NewerVersionAnswer(Answer):
    """A version that was published since a run that has ended began.

    `changes` are the tasks that it changes, adds or removes; `begins_with` is the first task, in its order, that it
    changes or that did not succeed.
    """

    version: int
    changes: Sequence[str]
    begins_with: str | None = None


class OlderBelowAnswer(Answer, OlderBelow):
    """A run below another one that goes on with it, in its own `version`; `newest` is that of its workflow."""


class RunPageAnswer(RunAnswer):
    """A run with its tasks. `graph` is left out when its definition cannot be read. `newer` is there when it has ended
    and its workflow has a newer version, which a rerun takes only when it is asked for.

    `usual_s` is what runs of its workflow usually take, `left_s` an estimate of the time left.
    """

    command_id: Id | None = None
    slot_at_start: str | None = None
    usual_s: float | None = None
    left_s: float | None = None
    tasks: Sequence[TaskAnswer]
    not_begun: Sequence[TaskNotBegun]
    children: Sequence[ChildAnswer]
    triggered: Annotated[Sequence[ChildAnswer], Field(description="runs of other workflows that its end started")] = ()
    graph: Sequence[TaskOrder] | None = None
    newer: NewerVersionAnswer | None = None


class CommandAnswer(Answer, CommandFate):
    """What became of a command: it waits (`handled_at` is left out), is done, or was refused (`reason`)."""


def run_fields(run: Run, visible: Visible) -> dict[str, Any]:
    """The fields of an answer that are those of its run. Of a run above it that may not be seen there is none."""
    fields = vars(run)
    if not is_seen(run.parent_project, visible):
        fields = {**fields, "parent_id": None, "parent_task": None}
    if not is_seen(run.started_by_project, visible):
        fields = {**fields, "started_by_id": None, "started_by_task": None}
    return {name: fields[name] for name in RunAnswer.model_fields}
