"""The state machine of a workflow instance by examples: tasks of workers, their failures, retries and losses.

Its laws stand in `test_runnable_laws.py`; what was halted or revived, logic tasks and children beside this file.
"""

from __future__ import annotations

import gc
from itertools import chain, pairwise
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from master.drive.events import Effect, Finish, KillTasks, Restored, Started
from master.drive.runnable import WorkflowRunnable as Runnable
from model.choices import FailureStrategy
from model.definitions.plan import Plan
from model.ids import TaskCode
from model.runs.instances import AttemptEnd, TaskAttempt
from model.runs.states import TaskState as T
from model.runs.states import WaitReason, WorkflowState
from tests.every import every
from tests.master.plans import a_plan, a_runnable, any_plan, queued

END, CONTINUE = FailureStrategy.END, FailureStrategy.CONTINUE
A, B, C, D = (TaskCode(number) for number in range(1, 5))


def first(*codes: TaskCode) -> list[Effect]:
    return [queued(code, 1) for code in codes]


def started(plan: Plan, strategy: FailureStrategy = CONTINUE) -> Runnable:
    runnable = a_runnable(plan, strategy)
    runnable.handle(Started())
    return runnable


def end(runnable: Runnable, *ends: tuple[TaskCode, T]) -> list[Effect]:
    """The effects of the last of these first attempts' ends."""
    return [runnable.handle(AttemptEnd(code, 1, state)) for code, state in ends][-1]


# ---------------------------------------------------------------------------------------------------- size


@pytest.mark.timeout(60)
def test_a_chain_of_10000_tasks_costs_one_effect_a_task() -> None:
    names = [f"t{number}" for number in range(10_000)]
    plan = a_plan({names[0]: []} | {after: [before] for before, after in pairwise(names)})
    runnable = a_runnable(plan)
    assert runnable.handle(Started()) == first(A)
    for number in range(1, 10_000):
        assert end(runnable, (TaskCode(number), T.SUCCESS)) == first(TaskCode(number + 1))
    assert end(runnable, (TaskCode(10_000), T.SUCCESS)) == [Finish(WorkflowState.SUCCESS, "")]


@pytest.mark.timeout(60)
def test_a_hundred_layers_of_a_hundred_tasks_queue_a_layer_at_a_time() -> None:
    layers = [[f"t{layer}.{number}" for number in range(100)] for layer in range(100)]
    after = {name: before for before, layer in pairwise([[], *layers]) for name in layer}
    plan = a_plan(after)
    codes = list(plan.tasks)
    runnable = a_runnable(plan)
    effects = [runnable.handle(Started()), *(end(runnable, (code, T.SUCCESS)) for code in codes)]
    assert [len(each) for each in effects if each] == [100] * 100 + [1]
    assert [*chain(*effects)] == [*first(*codes), Finish(WorkflowState.SUCCESS, "")]


def test_a_large_instance_is_restored_from_the_middle_with_what_is_missing_only() -> None:
    names = [f"t{number}" for number in range(10_000)]
    plan = a_plan({names[0]: []} | {after: [before] for before, after in pairwise(names)})
    done = tuple(TaskAttempt(TaskCode(number), 1, T.SUCCESS) for number in range(1, 9_000))
    assert a_runnable(plan).handle(Restored(done)) == first(TaskCode(9_000))


# ---------------------------------------------------------------------------------------------- one by one

DIAMOND = {"a": [], "b": ["a"], "c": ["a"], "d": ["b", "c"]}
TWO = {"a": [], "b": [], "c": ["a"], "d": ["b"]}


def test_a_task_waits_for_all_before_it() -> None:
    runnable = started(a_plan(DIAMOND))
    assert end(runnable, (A, T.SUCCESS)) == first(B, C)
    assert end(runnable, (C, T.SUCCESS)) == []
    assert end(runnable, (B, T.SUCCESS)) == first(D)
    assert end(runnable, (D, T.SUCCESS)) == [Finish(WorkflowState.SUCCESS, "")]


def test_a_failure_is_retried_as_often_as_the_task_says_and_then_is_one() -> None:
    plan = a_plan({"a": []}, fields={"a": {"retry_times": 2, "retry_interval": 0.5}})
    runnable = started(plan)
    wait = (WaitReason.RETRY, 0.5)
    assert runnable.handle(AttemptEnd(A, 1, T.FAILURE)) == [queued(A, 2, 1, wait)]
    assert runnable.handle(AttemptEnd(A, 2, T.FAILURE)) == [queued(A, 3, 2, wait)]
    assert runnable.handle(AttemptEnd(A, 3, T.FAILURE)) == [Finish(WorkflowState.FAILURE, 'task "a" failed')]


def test_a_lost_worker_costs_no_retry() -> None:
    runnable = started(a_plan({"a": []}, fields={"a": {"retry_times": 1}}))
    assert runnable.handle(AttemptEnd(A, 1, T.NEED_FAULT_TOLERANCE)) == [queued(A, 2, 0)]
    assert runnable.handle(AttemptEnd(A, 2, T.FAILURE)) == [queued(A, 3, 1)]


def test_a_task_that_its_workers_may_have_died_of_is_not_retried() -> None:
    runnable = started(a_plan({"a": []}, fields={"a": {"retry_times": 1}}))
    end = AttemptEnd(A, 1, T.FAILURE, is_suspect=True)
    assert runnable.handle(end) == [Finish(WorkflowState.FAILURE, 'task "a" failed')]


def test_a_kill_is_not_retried() -> None:
    runnable = started(a_plan({"a": []}, fields={"a": {"retry_times": 1}}))
    assert end(runnable, (A, T.KILL)) == [Finish(WorkflowState.FAILURE, 'task "a" was killed')]


def test_retries_are_counted_across_a_failover() -> None:
    plan = a_plan({"a": []}, fields={"a": {"retry_times": 1}})
    last = Restored((TaskAttempt(A, 3, T.FAILURE, 1),))
    assert a_runnable(plan).handle(last) == [Finish(WorkflowState.FAILURE, 'task "a" failed')]
    first = Restored((TaskAttempt(A, 2, T.FAILURE, 0),))
    assert a_runnable(plan).handle(first) == [queued(A, 3, 1)]


def test_with_end_a_failure_that_is_retried_stops_nothing() -> None:
    runnable = started(a_plan({"a": [], "b": []}, fields={"a": {"retry_times": 1}}), END)
    assert end(runnable, (A, T.FAILURE)) == [queued(A, 2, 1)]


def test_a_delay_comes_between_ready_and_queued_once() -> None:
    runnable = started(a_plan({"a": [], "b": ["a"]}, fields={"b": {"delay_time": 3, "retry_times": 1}}))
    assert end(runnable, (A, T.SUCCESS)) == [queued(B, 1, 0, (WaitReason.DELAY, 3))]
    assert end(runnable, (B, T.FAILURE)) == [queued(B, 2, 1)]


def test_with_continue_the_other_branch_runs_to_its_end() -> None:
    runnable = started(a_plan(TWO))
    assert end(runnable, (A, T.FAILURE)) == []
    assert end(runnable, (B, T.SUCCESS)) == first(D)
    assert end(runnable, (D, T.SUCCESS)) == [Finish(WorkflowState.FAILURE, 'task "a" failed')]


def test_with_end_the_rest_is_killed_and_waited_for() -> None:
    runnable = started(a_plan(TWO), END)
    assert end(runnable, (A, T.FAILURE)) == [KillTasks()]
    assert end(runnable, (B, T.KILL)) == [Finish(WorkflowState.FAILURE, 'task "a" failed, 1 killed')]


def test_with_end_a_success_that_comes_after_the_failure_starts_nothing() -> None:
    runnable = started(a_plan(TWO), END)
    end(runnable, (A, T.FAILURE))
    assert end(runnable, (B, T.SUCCESS)) == [Finish(WorkflowState.FAILURE, 'task "a" failed')]


def test_with_end_a_failure_alone_ends_at_once() -> None:
    runnable = started(a_plan({"a": [], "b": ["a"]}), END)
    assert end(runnable, (A, T.FAILURE)) == [KillTasks(), Finish(WorkflowState.FAILURE, 'task "a" failed')]


def test_a_lost_task_runs_again_as_the_next_attempt() -> None:
    runnable = started(a_plan(TWO))
    assert end(runnable, (A, T.NEED_FAULT_TOLERANCE)) == [queued(A, 2)]
    assert end(runnable, (A, T.SUCCESS)) == [], "the first attempt was given up"
    assert runnable.handle(AttemptEnd(A, 2, T.SUCCESS)) == first(C)


def test_a_lost_task_that_may_not_run_again_has_failed() -> None:
    runnable = started(a_plan({"a": []}, fails_on_loss={"a"}))
    reason = 'task "a" was lost with its worker, and may not run again'
    assert end(runnable, (A, T.NEED_FAULT_TOLERANCE)) == [Finish(WorkflowState.FAILURE, reason)]


def test_with_end_a_task_lost_after_the_failure_does_not_run_again() -> None:
    runnable = started(a_plan(TWO), END)
    end(runnable, (A, T.FAILURE))
    assert end(runnable, (B, T.NEED_FAULT_TOLERANCE)) == [
        Finish(WorkflowState.FAILURE, 'task "a" failed, 1 more failed')
    ]


@every(
    ("ends", "reason"),
    [
        ({A: T.FAILURE, B: T.SUCCESS, C: T.SUCCESS}, 'task "a" failed'),
        ({A: T.KILL, B: T.SUCCESS, C: T.SUCCESS}, 'task "a" was killed'),
        ({A: T.SUCCESS, B: T.KILL, C: T.FAILURE}, 'task "b" was killed, 1 more failed'),
        ({C: T.FAILURE, B: T.FAILURE, A: T.FAILURE}, 'task "c" failed, 2 more failed'),
    ],
)
def test_the_reason_names_the_first_that_failed_and_counts_the_others(ends: dict[TaskCode, T], reason: str) -> None:
    runnable = started(a_plan({"a": [], "b": [], "c": []}))
    assert end(runnable, *ends.items()) == [Finish(WorkflowState.FAILURE, reason)]


def test_what_is_queued_or_runs_is_restored_and_not_queued_again() -> None:
    runnable = a_runnable(a_plan({"a": [], "b": [], "c": [], "d": []}))
    attempts = (TaskAttempt(A, 1, T.QUEUED), TaskAttempt(B, 3, T.RUNNING_EXECUTION), TaskAttempt(C, 1, T.DISPATCH))
    assert runnable.handle(Restored(attempts)) == first(D)
    assert runnable.handle(AttemptEnd(B, 2, T.FAILURE)) == []
    assert end(runnable, (A, T.SUCCESS), (C, T.SUCCESS), (D, T.SUCCESS)) == []
    assert runnable.handle(AttemptEnd(B, 3, T.SUCCESS)) == [Finish(WorkflowState.SUCCESS, "")]


def test_what_ended_while_nobody_drove_is_made_up_for() -> None:
    runnable = a_runnable(a_plan(DIAMOND))
    attempts = tuple(TaskAttempt(code, 1, T.SUCCESS) for code in (A, B, C, D))
    assert runnable.handle(Restored(attempts)) == [Finish(WorkflowState.SUCCESS, "")]


@every("failure", [T.FAILURE, T.KILL])
def test_with_end_an_restored_failure_starts_nothing_though_a_success_made_something_ready(failure: T) -> None:
    """Seen before: successes were taken in first, so that "c" was queued and killed in one transaction."""
    runnable = a_runnable(a_plan(TWO), END)
    attempts = (TaskAttempt(A, 1, T.SUCCESS), TaskAttempt(B, 1, failure))
    effects = runnable.handle(Restored(attempts))
    assert effects[0] == KillTasks()
    assert [type(effect) for effect in effects] == [KillTasks, Finish]


def test_with_end_an_restored_loss_for_good_keeps_another_from_running_again() -> None:
    """Seen before: the two were told in the order of the rows, and "a" was queued again and killed."""
    runnable = a_runnable(a_plan({"a": [], "b": []}, fails_on_loss={"b"}), END)
    lost = tuple(TaskAttempt(code, 1, T.NEED_FAULT_TOLERANCE) for code in (A, B))
    reason = 'task "b" was lost with its worker, and may not run again, 1 more failed'
    assert runnable.handle(Restored(lost)) == [KillTasks(), Finish(WorkflowState.FAILURE, reason)]


def test_attempts_of_tasks_that_the_plan_does_not_know_are_passed_over() -> None:
    assert a_runnable(a_plan({"a": []})).handle(Restored((TaskAttempt(TaskCode(99), 1, T.FAILURE),))) == first(A)


def test_events_that_fit_nothing_change_nothing() -> None:
    runnable = started(a_plan(DIAMOND))
    for stray in [
        AttemptEnd(TaskCode(99), 1, T.SUCCESS),
        AttemptEnd(D, 1, T.SUCCESS),
        AttemptEnd(A, 2, T.FAILURE),
    ]:
        assert runnable.handle(stray) == []
    assert runnable.handle(Started()) == []


def test_an_end_that_is_none_is_our_bug_and_said_loudly() -> None:
    with pytest.raises(AssertionError, match="an attempt cannot end in QUEUED"):
        end(started(a_plan({"a": []})), (A, T.QUEUED))


def test_after_the_end_nothing_is_heard() -> None:
    runnable = started(a_plan({"a": []}))
    end(runnable, (A, T.SUCCESS))
    assert runnable.handle(Started()) == []
    assert end(runnable, (A, T.FAILURE)) == []


# --------------------------------------------------------------------------------------------------- plans


def test_a_plan_numbers_the_tasks_in_their_order_and_keeps_what_they_say() -> None:
    plan = a_plan({"late": ["early"], "early": []}, fails_on_loss={"early"})
    assert {code: task.name for code, task in plan.tasks.items()} == {A: "late", B: "early"}
    assert plan.graph.roots == (B,)
    assert plan.tasks[A].params == "{}"
    assert plan.tasks[A].worker_group is None


@given(st.integers(1, 200), st.integers(0, 2**32))
def test_a_plan_has_every_edge_once_and_every_task(size: int, seed: int) -> None:
    plan = any_plan(Random(seed), size)
    codes = {task.name: TaskCode(task.code or 0) for task in plan.spec.tasks}
    edges = {(codes[before], codes[task.name]) for task in plan.spec.tasks for before in task.after}
    assert {(code, after) for code, afters in plan.graph.successors.items() for after in afters} == edges
    assert set(plan.tasks) == set(plan.graph.successors) == set(plan.predecessor_count) == set(codes.values())


def test_a_runnable_that_is_dropped_leaves_nothing_to_the_garbage_collector() -> None:
    """Seen before: a cycle in each of 40,000 runnables made the collector walk all others, for a fifth of the time."""
    plan = a_plan(TWO)
    gc.collect()
    gc.disable()
    try:
        runnable = started(plan)
        end(runnable, (A, T.SUCCESS), (B, T.SUCCESS))
        del runnable
        assert gc.collect() == 0
    finally:
        gc.enable()
