"""How a run continues that has ended or waits: which tasks run again, and which keep their result. Pure.

A task that runs again gets a new attempt; its old ones are no longer valid. Other ended tasks keep their result. A task
that was held back is not listed: it begins as soon as its workflow runs.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from model.definitions.plan import Plan
from model.ids import TaskCode
from model.runs.command_moves import CommandType
from model.runs.commands import Move
from model.runs.elements import KEPT, is_element, task_of
from model.runs.instances import TaskAttempt
from model.runs.states import TaskState

C, T = CommandType, TaskState
_FAILED = (T.FAILURE, T.KILL, T.NEED_FAULT_TOLERANCE)
_SUSPENDED = (T.PAUSE, T.KILL, T.NEED_FAULT_TOLERANCE)
_UNFINISHED = (T.FAILURE, *_SUSPENDED)


@dataclass(frozen=True, slots=True)
class GoingOn:
    """`again`: tasks and elements that run again; `resumes`: tasks whose children or elements continue instead of
    restarting.

    `executing` limits the run to some tasks, None does not; with `keeps_executing` the limit is unchanged. With
    `keeps_ending` a run that was paused during its cleanup resumes the cleanup; otherwise it cleans up again at its
    next end.
    """

    again: frozenset[TaskCode] = frozenset()
    resumes: frozenset[TaskCode] = frozenset()
    repeats: bool = False
    executing: frozenset[TaskCode] | None = None
    keeps_executing: bool = False
    keeps_ending: bool = False


def revival(
    move: Move,
    plan: Plan,
    attempts: Iterable[TaskAttempt],
    scope: frozenset[TaskCode] | None = None,
    changed: frozenset[TaskCode] | None = None,
    *,
    cleans_up: bool = False,
) -> GoingOn:
    """What a command requests. Raises `Refused` for a task that does not exist.

    Args:
        move: one that lets a run continue.
        plan: of the version with which it continues.
        attempts: the latest of each task that has begun.
        scope: the former limit of the run; None = all.
        changed: the tasks that another version changes; None: it keeps its version.
        cleans_up: whether it was paused during its cleanup.
    """
    known = [attempt for attempt in attempts if attempt.valid and task_of(attempt.code) in plan.tasks]
    valid = [attempt for attempt in known if not is_element(attempt.code)]
    if move.type is C.REPEAT_RUNNING and changed is None:
        return GoingOn(frozenset(attempt.code for attempt in known), repeats=True)
    return _with_elements(_of_tasks(move, plan, valid, scope, changed, cleans_up=cleans_up), known)


def _with_elements(going_on: GoingOn, attempts: Iterable[TaskAttempt]) -> GoingOn:
    """Keep the results of succeeded elements if their task resumes, but not if it runs again."""
    elements = frozenset(
        attempt.code
        for attempt in attempts
        if is_element(attempt.code)
        and (task := task_of(attempt.code)) in going_on.again
        and not (task in going_on.resumes and attempt.state in KEPT)
    )
    return replace(going_on, again=going_on.again | elements) if elements else going_on


def _of_tasks(
    move: Move,
    plan: Plan,
    valid: Sequence[TaskAttempt],
    scope: frozenset[TaskCode] | None,
    changed: frozenset[TaskCode] | None,
    *,
    cleans_up: bool,
) -> GoingOn:
    closing = frozenset(code for code in plan.closing if scope is None or code in scope)
    match move.type:
        case C.RECOVER_SUSPENDED_PROCESS if cleans_up:
            return GoingOn(closing & _in(valid, _SUSPENDED), keeps_executing=True, keeps_ending=True)
        case C.RECOVER_SUSPENDED_PROCESS:
            # A task that is out of scope would not run again: it must not lose its result.
            again = frozenset(code for code in _in(valid, _SUSPENDED) if scope is None or code in scope)
            return GoingOn(again | closing, again, keeps_executing=True)
        case C.START_FAILURE_TASK_PROCESS:
            failed = _in(valid, _FAILED)
            again = plan.graph.with_all_after(failed | (changed or frozenset()))
            return GoingOn(
                again | frozenset(plan.closing), (failed | _in(valid, (T.PAUSE,))) - (changed or frozenset())
            )
        case C.REPEAT_RUNNING:
            again = plan.graph.with_all_after(_in(valid, _UNFINISHED) | (changed or frozenset()))
            return GoingOn(again | frozenset(plan.closing), repeats=True)
        case C.EXECUTE_TASK:
            named = plan.graph.around(plan.find(move.start_tasks), move.depend_type)
            return GoingOn(named, executing=named)
        case _:
            return GoingOn(keeps_executing=True, keeps_ending=True)


def _in(attempts: Iterable[TaskAttempt], wanted: Sequence[TaskState]) -> frozenset[TaskCode]:
    return frozenset(attempt.code for attempt in attempts if attempt.state in wanted)
