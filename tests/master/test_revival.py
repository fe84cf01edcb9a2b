"""Which tasks run again when an instance goes on, for each command that lets it."""

from __future__ import annotations

import pytest

from master.claim.revival import GoingOn, revival
from model.choices import TaskDependType
from model.errors import Refused
from model.ids import CommandId, TaskCode, WorkflowInstanceId
from model.runs.command_moves import CommandType as C
from model.runs.commands import Move
from model.runs.instances import TaskAttempt
from model.runs.states import TaskState as T
from tests.every import every
from tests.master.plans import a_plan

ONE, TWO, THREE, FOUR, FIVE = (TaskCode(number) for number in range(1, 6))
PLAN = a_plan({"a": [], "b": ["a"], "c": ["b"], "d": [], "e": ["d"]})
ALL = frozenset(PLAN.tasks)


def going_on(type_: C, *states: T, scope: frozenset[TaskCode] | None = None, **fields: object) -> GoingOn:
    """The revival of a run whose tasks a, b, ... have these states."""
    attempts = [TaskAttempt(TaskCode(number), 1, state) for number, state in enumerate(states, 1)]
    return revival(Move(CommandId(1), type_, WorkflowInstanceId(1), **fields), PLAN, attempts, scope)  # type: ignore[arg-type]


@every("halted", [T.PAUSE, T.KILL, T.NEED_FAULT_TOLERANCE])
def test_a_resumed_instance_runs_again_what_was_halted_and_nothing_else(halted: T) -> None:
    found = going_on(C.RECOVER_SUSPENDED_PROCESS, T.SUCCESS, halted, T.FORCED_SUCCESS, T.FAILURE)
    assert found == GoingOn(frozenset({TWO}), frozenset({TWO}), keeps_executing=True)


def test_a_resumed_instance_keeps_the_results_of_what_is_out_of_its_scope() -> None:
    """Seen before: a killed task out of scope lost its result, did not run, and the instance ended as SUCCESS."""
    found = going_on(C.RECOVER_SUSPENDED_PROCESS, T.KILL, T.PAUSE, scope=frozenset({TWO}))
    assert found.again == found.resumes == {TWO}


def test_after_a_failure_the_failed_and_all_after_them_run_again_and_successes_stay() -> None:
    found = going_on(C.START_FAILURE_TASK_PROCESS, T.SUCCESS, T.FAILURE, T.SUCCESS, T.SUCCESS, T.KILL)
    assert found == GoingOn(frozenset({TWO, THREE, FIVE}), frozenset({TWO, FIVE}))


def test_after_a_failure_the_children_of_what_was_paused_beside_it_go_on() -> None:
    """Seen before: they were left behind in PAUSE, and new ones were started."""
    found = going_on(C.START_FAILURE_TASK_PROCESS, T.FAILURE, T.SUCCESS, T.SUCCESS, T.PAUSE)
    assert found.resumes == {ONE, FOUR}


def test_a_repeated_instance_runs_everything_again() -> None:
    assert going_on(C.REPEAT_RUNNING, *[T.SUCCESS] * 5) == GoingOn(ALL, repeats=True)


@every(
    ("depend_type", "scope"),
    [
        (TaskDependType.TASK_ONLY, {TWO}),
        (TaskDependType.TASK_PRE, {ONE, TWO}),
        (TaskDependType.TASK_POST, {TWO, THREE}),
    ],
)
def test_named_tasks_run_again_alone_or_with_what_is_before_or_after(
    depend_type: TaskDependType, scope: set[TaskCode]
) -> None:
    found = going_on(C.EXECUTE_TASK, *[T.SUCCESS] * 5, start_tasks=("b",), depend_type=depend_type)
    assert found == GoingOn(frozenset(scope), executing=frozenset(scope))


def test_a_named_task_that_does_not_exist_is_refused() -> None:
    with pytest.raises(Refused, match='no task "z"'):
        going_on(C.EXECUTE_TASK, start_tasks=("z",))


def test_what_has_only_waited_runs_nothing_again() -> None:
    assert going_on(C.RECOVER_SERIAL_WAIT) == GoingOn(keeps_executing=True, keeps_ending=True)


def test_what_is_no_longer_valid_and_what_the_plan_does_not_know_counts_for_nothing() -> None:
    attempts = [TaskAttempt(ONE, 1, T.FAILURE, valid=False), TaskAttempt(TaskCode(99), 1, T.FAILURE)]
    move = Move(CommandId(1), C.START_FAILURE_TASK_PROCESS, WorkflowInstanceId(1))
    assert revival(move, PLAN, attempts) == GoingOn()


def test_with_another_version_what_succeeded_and_is_the_same_keeps_its_result() -> None:
    attempts = [TaskAttempt(TaskCode(number), 1, T.SUCCESS) for number in (1, 2, 3, 4)]
    attempts.append(TaskAttempt(FIVE, 1, T.FAILURE))
    move = Move(CommandId(1), C.REPEAT_RUNNING, WorkflowInstanceId(1), version=2)
    assert revival(move, PLAN, attempts, changed=frozenset({TWO})) == GoingOn(
        frozenset({TWO, THREE, FIVE}), repeats=True
    )
    assert revival(move, PLAN, attempts, changed=frozenset()) == GoingOn(frozenset({FIVE}), repeats=True)
