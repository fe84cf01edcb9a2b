"""The state of a task that has no attempt: it waits, is skipped or disabled, or was not selected to run.

Pure; computed from the rows by the rules with which a master decides what may begin (`model/runs/ready_tasks.py`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from model.choices import OnWorkerLoss, StartWhen
from model.definitions.plan import Plan
from model.ids import TaskCode
from model.runs.closing import closing_tasks
from model.runs.ready_tasks import Progress
from model.runs.states import NotBegun, TaskState

if TYPE_CHECKING:
    from dao.runs.rows import TaskRun


@dataclass(frozen=True, slots=True)
class TaskWithoutAttempt:
    """Why a task has no attempt, and the tasks that must end before it begins, or for which it never does.

    `rule` is its start rule; `never`: it is not the default, and will not be met. `unmet` says for which start rule it
    is skipped, its own or that of a task before it, or which task before it skipped itself. `closes`: it cleans up when
    all else is over.
    """

    state: NotBegun
    missing: tuple[str, ...] = ()
    rule: StartWhen = StartWhen.ALL_SUCCESS
    never: bool = False
    unmet: str | None = None
    closes: bool = False


def without_attempts(
    plan: Plan,
    scope: Collection[TaskCode] | None,
    attempts: Iterable[TaskRun],
    *,
    ended: bool,
    cleans_up: bool = False,
) -> dict[str, TaskWithoutAttempt]:
    """The tasks of a run without a valid attempt, by name, in the order of the workflow.

    Args:
        scope: the tasks to which the run is limited; None = all.
        attempts: all of the run.
        ended: whether the run has ended.
        cleans_up: whether all but its teardown and on_exit tasks is over.
    """
    attempts = list(attempts)
    latest = {attempt.code: attempt for attempt in attempts if attempt.valid and attempt.code in plan.tasks}
    progress = _progress(plan, scope, latest)
    # Of a run that is limited now: what an earlier execution did not choose.
    skipped = progress.skipped if scope is None else progress.skipped | _progress(plan, None, latest).skipped
    failed = progress.never.union(code for code, attempt in latest.items() if _has_failed(plan, attempt))
    closing = closing_tasks(plan, scope, {attempt.code for attempt in attempts}.__contains__) if plan.closing else ()
    return {
        task.name: _closing_task(plan, scope, closing, latest, code, ended=ended, cleans_up=cleans_up)
        if code in plan.closing
        else _task_without_attempt(plan, progress, skipped, failed, code, ended=ended)
        for code, task in plan.tasks.items()
        if code not in latest
    }


def _progress(plan: Plan, scope: Collection[TaskCode] | None, latest: Mapping[TaskCode, TaskRun]) -> Progress:
    progress = Progress(plan, scope)
    progress.begin(code for code, attempt in latest.items() if attempt.state is not TaskState.PAUSE)
    for code, attempt in latest.items():
        if code in plan.closing:
            continue
        if not progress.is_in_scope(code):
            if attempt.state is TaskState.SKIPPED:
                progress.kept_skipped(code)
            continue
        if attempt.state in (TaskState.SUCCESS, TaskState.FORCED_SUCCESS):
            progress.succeeded(code, attempt.branch)
        elif attempt.state is TaskState.SKIPPED:
            progress.skipped_itself(code)
        elif _has_failed(plan, attempt):
            progress.failed(code)
    return progress


def _has_failed(plan: Plan, attempt: TaskRun) -> bool:
    """Whether no other attempt follows this one; for a moment also said of a failure that is about to be retried."""
    is_lost = attempt.state is TaskState.NEED_FAULT_TOLERANCE
    may_be = not is_lost or plan.tasks[attempt.code].on_worker_loss is OnWorkerLoss.FAIL
    return may_be and attempt.state in (TaskState.FAILURE, TaskState.KILL, TaskState.NEED_FAULT_TOLERANCE)


def latest_by_name(attempts: Iterable[TaskRun]) -> Mapping[str, TaskRun]:
    """The valid attempt of each task."""
    return {attempt.name: attempt for attempt in attempts if attempt.valid}


def of_this_round(attempts: Iterable[TaskRun]) -> list[TaskRun]:
    """For each task the valid attempt and the earlier ones that it replaces: what failed or was lost since the task
    last began from the start."""
    kept: list[TaskRun] = []
    after: dict[TaskCode, TaskRun] = {}
    for attempt in sorted(attempts, key=lambda each: -each.attempt):
        later = after.get(attempt.code)
        is_made_good = later is not None and (
            later.retries > attempt.retries or attempt.state is TaskState.NEED_FAULT_TOLERANCE
        )
        if attempt.valid or is_made_good:
            kept.append(attempt)
            after[attempt.code] = attempt
        elif later is not None:
            del after[attempt.code]
    return sorted(kept, key=lambda each: each.id)


def _task_without_attempt(
    plan: Plan,
    progress: Progress,
    skipped: Collection[TaskCode],
    failed: Collection[TaskCode],
    code: TaskCode,
    *,
    ended: bool,
) -> TaskWithoutAttempt:
    if plan.tasks[code].is_forbidden:
        return TaskWithoutAttempt(NotBegun.FORBIDDEN)
    rule = plan.rules.get(code, StartWhen.ALL_SUCCESS)
    if code in skipped:
        return TaskWithoutAttempt(NotBegun.SKIPPED, rule=rule, unmet=_unmet(plan, progress, skipped, code))
    if not progress.is_in_scope(code):
        return TaskWithoutAttempt(NotBegun.LEFT_OUT)
    missing = [before for before in plan.graph.predecessors[code] if before not in progress.done]
    never = code in plan.rules and code in progress.never
    if rule is StartWhen.ALWAYS:
        missing = []
    elif code in plan.rules:
        missing = [before for before in missing if (before in failed) is never]
    names = tuple(plan.tasks[before].name for before in missing)
    return TaskWithoutAttempt(NotBegun.NOT_BEGUN if ended else NotBegun.WAITING, names, rule, never)


def _closing_task(
    plan: Plan,
    scope: Collection[TaskCode] | None,
    closing: Collection[TaskCode],
    latest: Mapping[TaskCode, TaskRun],
    code: TaskCode,
    *,
    ended: bool,
    cleans_up: bool,
) -> TaskWithoutAttempt:
    if plan.tasks[code].is_forbidden:
        return TaskWithoutAttempt(NotBegun.FORBIDDEN)
    if not (scope is None or code in scope):
        return TaskWithoutAttempt(NotBegun.LEFT_OUT)
    if code not in closing and (ended or cleans_up):
        unmet = "it cleans up only if a task before it has begun"
        return TaskWithoutAttempt(NotBegun.SKIPPED, unmet=unmet, closes=True)
    if ended:
        return TaskWithoutAttempt(NotBegun.NOT_BEGUN, closes=True)
    if not cleans_up:
        return TaskWithoutAttempt(NotBegun.WAITING, closes=True)
    before = {each for each in plan.graph.predecessors[code] if each in plan.closing}
    if plan.closing[code]:
        before.update(each for each, is_on_exit in plan.closing.items() if not is_on_exit)
    missing = [each for each in plan.closing if each in before & set(closing) and not _is_over(latest, each)]
    names = tuple(plan.tasks[each].name for each in missing)
    return TaskWithoutAttempt(NotBegun.WAITING, names, closes=True)


def _is_over(latest: Mapping[TaskCode, TaskRun], code: TaskCode) -> bool:
    return code in latest and latest[code].state.is_final


def _unmet(plan: Plan, progress: Progress, skipped: Collection[TaskCode], code: TaskCode) -> str | None:
    """A clause about the start rule for which a task is skipped, or the task that skipped itself before it, if it is
    for one."""
    seen, pending = {code}, [code]
    while pending:
        each = pending.pop()
        if each in progress.by_itself:
            return f"{plan.tasks[each].name} skipped itself"
        rule = plan.rules.get(each)
        if rule in _WANTED:
            name = "it" if each == code else plan.tasks[each].name
            return f"{name} starts only if {_WANTED[rule]} (start_when: {rule})"
        befores = [before for before in plan.graph.predecessors[each] if before in skipped and before not in seen]
        seen.update(befores)
        pending += befores
    return None


_WANTED = {
    StartWhen.ONE_FAILED: "a task before it fails",
    StartWhen.ALL_FAILED: "all tasks before it fail",
}
"""Start rules by which a task is skipped though a task before it succeeded."""
