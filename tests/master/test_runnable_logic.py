"""Branches, forbidden tasks, scopes, cleaning up, and what a task sees of others: how they fit in one instance."""

from __future__ import annotations

import json
from dataclasses import replace

from master.drive.events import Close, Closes, Effect, Finish, KillTasks, Restored, Started
from master.drive.runnable import WorkflowRunnable as Runnable
from model.choices import FailureStrategy
from model.definitions.plan import Plan
from model.ids import TaskCode
from model.parameters.parameters import PARAMETERS_BYTES_MAX
from model.runs.instances import AttemptEnd, TaskAttempt
from model.runs.states import TaskState as T
from model.runs.states import WorkflowState as W
from tests.every import every
from tests.master.plans import Task, a_plan, a_runnable, an_instance, queued

A, B, C, D, E = (TaskCode(number) for number in range(1, 6))
DONE = Finish(W.SUCCESS, "")
PART = Finish(W.SUCCESS, "", is_whole=False)
JUDGE: Task = {"type": "CONDITIONS", "params": {"when": {"a": "SUCCESS"}, "on_success": ["yes"], "on_failure": ["no"]}}
JUDGED = a_plan({"a": [], "evaluator": ["a"], "yes": ["evaluator"], "no": ["evaluator"]}, fields={"evaluator": JUDGE})


def a_switch(when: str) -> Plan:
    """By a's output it chooses b or c; one task follows each of them, and one both."""
    cases = {"cases": [{"when": when, "then": ["b"]}], "default": ["c"]}
    after = {"switch": [], "b": ["switch"], "c": ["switch"], "after-c": ["c"], "both": ["b", "c"]}
    return a_plan(after, fields={"switch": {"type": "SWITCH", "params": cases}})


def started(plan: Plan, strategy: FailureStrategy = FailureStrategy.CONTINUE) -> list[Effect]:
    return a_runnable(plan, strategy).handle(Started())


def limited(plan: Plan, *scope: TaskCode) -> Runnable:
    return Runnable(replace(an_instance(plan), scope=frozenset(scope)), plan)


def test_what_hangs_only_on_a_branch_that_was_not_chosen_is_skipped() -> None:
    runnable = a_runnable(a_switch("1 == 1"))
    chosen = TaskAttempt(A, 1, T.SUCCESS, branch=frozenset({B}))
    assert runnable.handle(Started()) == [chosen, queued(B, 1)]
    assert runnable.handle(AttemptEnd(B, 1, T.SUCCESS)) == [queued(E, 1)], "it hangs on a chosen branch too"
    assert runnable.handle(AttemptEnd(E, 1, T.SUCCESS)) == [DONE]


def test_a_choice_is_remembered_by_whoever_claims_failover() -> None:
    row = TaskAttempt(A, 1, T.SUCCESS, branch=frozenset({B}))
    assert a_runnable(a_switch("1 == 2")).handle(Restored((row,))) == [queued(B, 1)]


@every("strategy", FailureStrategy)
def test_a_switch_that_cannot_decide_fails_its_workflow(strategy: FailureStrategy) -> None:
    """Seen before: it was recorded as FAILURE and waited for all the same, so that the workflow never ended."""
    reason = "case 1, ${x} == 1: there is no parameter x; give it a value or remove ${x}"
    failed = TaskAttempt(A, 1, T.FAILURE, reason=reason)
    kill = [KillTasks()] if strategy is FailureStrategy.END else []
    assert started(a_switch("${x} == 1"), strategy) == [failed, *kill, Finish(W.FAILURE, 'task "switch" failed')]


def test_a_forbidden_task_is_passed_over_as_if_it_were_not_there() -> None:
    plan = a_plan({"a": [], "b": ["a"], "c": ["b"]}, fields={"a": {"flag": "NO"}, "b": {"flag": "NO"}})
    assert started(plan) == [queued(C, 1)]
    assert started(a_plan({"a": []}, fields={"a": {"flag": "NO"}})) == [DONE]


@every("strategy", FailureStrategy)
def test_a_failure_that_conditions_ask_for_is_taken_up(strategy: FailureStrategy) -> None:
    runnable = a_runnable(JUDGED, strategy)
    runnable.handle(Started())
    judged = TaskAttempt(B, 1, T.SUCCESS, branch=frozenset({D}))
    assert runnable.handle(AttemptEnd(A, 1, T.FAILURE)) == [judged, queued(D, 1)]
    assert runnable.handle(AttemptEnd(D, 1, T.SUCCESS)) == [DONE]


def test_conditions_wait_until_no_retry_is_left() -> None:
    plan = a_plan(
        {"a": [], "evaluator": ["a"], "yes": ["evaluator"], "no": ["evaluator"]},
        fields={"evaluator": JUDGE, "a": {"retry_times": 1}},
    )
    runnable = a_runnable(plan)
    runnable.handle(Started())
    assert runnable.handle(AttemptEnd(A, 1, T.FAILURE)) == [queued(A, 2, 1)]
    assert runnable.handle(AttemptEnd(A, 2, T.SUCCESS))[1] == queued(C, 1)


# --------------------------------------------------------------------------------------------------- scopes


def test_what_is_left_out_is_not_waited_for() -> None:
    plan = a_plan({"a": [], "b": ["a"], "c": ["b"]})
    runnable = limited(plan, B)
    assert runnable.handle(Started()) == [queued(B, 1)]
    assert runnable.handle(AttemptEnd(B, 1, T.SUCCESS)) == [PART]


def test_a_rerun_of_some_tasks_makes_a_whole_success_only_if_it_leaves_nothing_to_do() -> None:
    plan = a_plan({"a": [], "b": ["a"], "c": []})
    for before, end in (((), PART), ((B,), PART), ((B, C), DONE)):
        runnable = limited(plan, A)
        runnable.handle(Restored(tuple(TaskAttempt(code, 1, T.SUCCESS) for code in before)))
        assert runnable.handle(AttemptEnd(A, 1, T.SUCCESS)) == [end], before


def test_what_skipped_itself_leaves_nothing_to_do_to_a_rerun_of_some_tasks() -> None:
    plan = a_plan({"a": [], "b": ["a"], "c": []})
    for before, end in (((), PART), ((C,), DONE)):
        runnable = limited(plan, A)
        runnable.handle(Restored(tuple(TaskAttempt(code, 1, T.SKIPPED) for code in before)))
        assert runnable.handle(AttemptEnd(A, 1, T.SKIPPED)) == [end], before


def test_conditions_that_run_again_alone_see_that_their_task_failed() -> None:
    """Seen before: what is out of scope counted as a success, and the other branch was chosen."""
    again = limited(JUDGED, B, C, D).handle(Restored((TaskAttempt(A, 1, T.FAILURE),)))
    assert again == [TaskAttempt(B, 1, T.SUCCESS, branch=frozenset({D})), queued(D, 1)]


def test_a_failure_out_of_scope_fails_the_workflow_still() -> None:
    runnable = limited(a_plan({"a": [], "b": []}), B)
    runnable.handle(Restored((TaskAttempt(A, 1, T.FAILURE),)))
    assert runnable.handle(AttemptEnd(B, 1, T.SUCCESS)) == [Finish(W.FAILURE, 'task "a" failed')]


def test_a_failure_out_of_scope_that_was_taken_up_stays_so() -> None:
    """Seen before: a workflow that had succeeded failed when another task of it was executed again."""
    runnable = limited(JUDGED, D)
    rows = TaskAttempt(A, 1, T.FAILURE), TaskAttempt(B, 1, T.SUCCESS, branch=frozenset({D}))
    assert runnable.handle(Restored((*rows, TaskAttempt(D, 1, T.SUCCESS, valid=False)))) == [queued(D, 2)]
    assert runnable.handle(AttemptEnd(D, 2, T.SUCCESS)) == [DONE]


# ----------------------------------------------------------------------------------------------- parameters


def values_of(effects: list[Effect]) -> list[dict[str, str]]:
    return [
        json.loads(effect.values) for effect in effects if isinstance(effect, TaskAttempt) and effect.state is T.QUEUED
    ]


def test_what_is_queued_again_at_a_failover_sees_what_the_tasks_before_it_gave() -> None:
    """Seen before: it was queued before their outputs were taken in, and ran with less than at first."""
    rows = TaskAttempt(A, 1, T.SUCCESS, outputs='{"x": "1"}'), TaskAttempt(B, 1, T.NEED_FAULT_TOLERANCE)
    for attempts in (rows, rows[::-1]):
        effects = a_runnable(a_plan({"a": [], "b": ["a"]})).handle(Restored(attempts))
        assert values_of(effects) == [{"x": "1"}]


def test_what_is_given_late_is_seen_by_those_who_begin_later() -> None:
    """With the middle of a chain left out its end does not wait; the outputs of the beginning still reach others. /
    Once a bug: what the end had seen was kept for all."""
    plan = a_plan({"a": [], "left-out": ["a"], "c": ["left-out"], "d": ["a", "c"], "giver": []})
    runnable = limited(plan, A, C, D, E)
    runnable.handle(Started())
    runnable.handle(AttemptEnd(E, 1, T.SUCCESS, '{"y": "1"}'))
    runnable.handle(AttemptEnd(C, 1, T.NEED_FAULT_TOLERANCE))
    runnable.handle(AttemptEnd(C, 2, T.SUCCESS))
    assert values_of(runnable.handle(AttemptEnd(A, 1, T.SUCCESS, '{"x": "1"}'))) == [{"x": "1"}]


# ------------------------------------------------------------------------------------------------ DEPENDENT

WAITING: Task = {"type": "DEPENDENT", "params": {"groups": [{"items": [{"workflow": 7, "cycle": "today"}]}]}}


def test_a_dependent_task_waits_in_the_master_and_ends_as_its_owner_judges() -> None:
    runnable = a_runnable(a_plan({"a": [], "b": ["a"]}, fields={"a": WAITING}))
    assert runnable.handle(Started()) == [TaskAttempt(A, 1, T.RUNNING_EXECUTION)]
    assert runnable.handle(AttemptEnd(A, 1, T.SUCCESS)) == [queued(B, 1)]


def test_in_a_dry_run_nobody_is_waited_for() -> None:
    plan = a_plan({"a": []}, fields={"a": WAITING})
    dry = Runnable(replace(an_instance(plan), dry_run=True), plan)
    assert dry.handle(Started()) == [TaskAttempt(A, 1, T.SUCCESS), DONE]


def test_a_task_whose_parameters_cannot_be_made_fails_as_its_first_attempt() -> None:
    """Seen before: the number of an attempt that was never written was used, and the row had the next one."""
    plan = a_plan({"a": []}, fields={"a": {"local_params": {"p": "${x}${x}"}}})
    large = replace(an_instance(plan), params=json.dumps({"x": "x" * (PARAMETERS_BYTES_MAX // 2 + 1)}))
    failed, end = Runnable(large, plan).handle(Started())
    assert isinstance(failed, TaskAttempt)
    assert (failed.attempt, failed.state) == (1, T.FAILURE)
    assert isinstance(end, Finish)


# ---------------------------------------------------------------------------------------------- cleaning up


CLEANS: Task = {"teardown": True, "timeout": 1}


def begun(effects: list[Effect]) -> list[TaskCode]:
    return [each.code for each in effects if isinstance(each, TaskAttempt)]


def test_what_skips_itself_while_it_cleans_up_is_over_and_has_not_failed() -> None:
    plan = a_plan({"a": [], "first": ["a"], "then": ["first"]}, fields={"first": CLEANS, "then": CLEANS})
    runnable = a_runnable(plan)
    runnable.handle(Started())
    assert runnable.handle(AttemptEnd(A, 1, T.SKIPPED)) == [Close(W.SUCCESS, "")]
    assert begun(runnable.handle(Closes())) == [B]
    assert begun(runnable.handle(AttemptEnd(B, 1, T.SKIPPED))) == [C]
    assert runnable.handle(AttemptEnd(C, 1, T.SKIPPED)) == [DONE]

    owner = Runnable(replace(an_instance(plan), ending_as=W.SUCCESS), plan)
    assert begun(owner.handle(Restored((TaskAttempt(A, 1, T.SKIPPED), TaskAttempt(B, 1, T.SKIPPED))))) == [C]
    assert owner.handle(AttemptEnd(C, 1, T.SKIPPED)) == [DONE]


def test_what_cleans_up_sees_how_its_run_ends_and_whether_it_is_the_latest_by_then() -> None:
    tell: Task = {"on_exit": True, "timeout": 1, "local_params": {"latest": "${system.is_latest}"}}
    runnable = a_runnable(a_plan({"a": [], "b": [], "tell": []}, fields={"tell": tell}))
    runnable.tell_latest(is_latest=True)
    runnable.handle(Started())
    runnable.handle(AttemptEnd(A, 1, T.SKIPPED))
    assert runnable.handle(AttemptEnd(B, 1, T.FAILURE)) == [Close(W.FAILURE, 'task "b" failed')]
    runnable.tell_latest(is_latest=False)
    [told] = runnable.handle(Closes())
    assert isinstance(told, TaskAttempt)
    values = json.loads(told.values)
    assert (values["latest"], values["system.workflow.state"]) == ("false", "FAILURE")
    assert values["system.workflow.failed_tasks"] == '["b"]'
