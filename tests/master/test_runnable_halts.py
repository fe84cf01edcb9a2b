"""A workflow instance that is paused or stopped, and how it goes on."""

from __future__ import annotations

from dataclasses import replace

from master.drive.events import Effect, Enter, Finish, HoldTasks, KillTasks, Restored, Started
from master.drive.runnable import WorkflowRunnable as Runnable
from model.choices import FailureStrategy
from model.definitions.plan import Plan
from model.ids import TaskCode
from model.runs.instances import AttemptEnd, HaltRequest, TaskAttempt
from model.runs.states import TaskState as T
from model.runs.states import WaitReason
from model.runs.states import WorkflowState as W
from tests.every import every
from tests.master.plans import a_plan, a_runnable, an_instance, queued

A, B, C, D = (TaskCode(number) for number in range(1, 5))
CHAIN = a_plan({"a": [], "b": ["a"]})
TWO = a_plan({"a": [], "b": []})
PAUSED, STOPPED, FAILED = Finish(W.PAUSE, "it was paused"), Finish(W.STOP, "it was stopped"), 'task "a" failed'
STOP_KILLS = KillTasks("its workflow was stopped")


def halted(plan: Plan, state: W, strategy: FailureStrategy = FailureStrategy.CONTINUE) -> Runnable:
    """A run that was started and then halted."""
    runnable = a_runnable(plan, strategy)
    runnable.handle(Started())
    halt = HoldTasks() if state is W.READY_PAUSE else STOP_KILLS
    assert runnable.handle(HaltRequest(state)) == [Enter(state), halt]
    return runnable


def restored(plan: Plan, *attempts: TaskAttempt, state: W = W.RUNNING_EXECUTION) -> list[Effect]:
    return Runnable(replace(an_instance(plan), state=state), plan).handle(Restored(attempts))


@every(("state", "end"), [(W.READY_PAUSE, PAUSED), (W.READY_STOP, STOPPED)])
def test_what_runs_may_finish_and_nothing_new_starts(state: W, end: Finish) -> None:
    assert halted(CHAIN, state).handle(AttemptEnd(A, 1, T.SUCCESS)) == [end]


def test_what_was_held_back_or_killed_decides_the_end() -> None:
    paused, stopped = halted(TWO, W.READY_PAUSE), halted(TWO, W.READY_STOP)
    assert paused.handle(AttemptEnd(A, 1, T.PAUSE)) == stopped.handle(AttemptEnd(A, 1, T.KILL)) == []
    assert paused.handle(AttemptEnd(B, 1, T.SUCCESS)) == [PAUSED]
    assert stopped.handle(AttemptEnd(B, 1, T.FAILURE)) == [STOPPED], "kill wins over failure"


@every("state", [W.READY_PAUSE, W.READY_STOP])
def test_a_halt_that_comes_too_late_leaves_a_success(state: W) -> None:
    runnable = halted(TWO, state)
    runnable.handle(AttemptEnd(A, 1, T.SUCCESS))
    assert runnable.handle(AttemptEnd(B, 1, T.SUCCESS)) == [Finish(W.SUCCESS, "")]


@every("state", [W.READY_PAUSE, W.READY_STOP])
def test_while_it_is_halted_a_failure_wins_over_what_never_began(state: W) -> None:
    runnable = halted(a_plan({"a": [], "b": [], "c": ["b"]}), state)
    runnable.handle(AttemptEnd(A, 1, T.FAILURE))
    assert runnable.handle(AttemptEnd(B, 1, T.SUCCESS)) == [Finish(W.FAILURE, FAILED)]


def test_a_stop_overrules_a_pause_and_never_the_other_way_round() -> None:
    runnable = halted(CHAIN, W.READY_PAUSE)
    assert runnable.handle(HaltRequest(W.READY_PAUSE)) == []
    assert runnable.handle(HaltRequest(W.READY_STOP)) == [Enter(W.READY_STOP), STOP_KILLS]
    assert runnable.handle(HaltRequest(W.READY_PAUSE)) == []


def test_what_would_be_retried_in_a_pause_is_held_back_with_its_count() -> None:
    runnable = halted(a_plan({"a": []}, fields={"a": {"retry_times": 2, "retry_interval": 5}}), W.READY_PAUSE)
    assert runnable.handle(AttemptEnd(A, 1, T.FAILURE)) == [TaskAttempt(A, 2, T.PAUSE, 1), PAUSED]


def test_what_is_lost_in_a_pause_is_held_back() -> None:
    runnable = halted(a_plan({"a": []}), W.READY_PAUSE)
    assert runnable.handle(AttemptEnd(A, 1, T.NEED_FAULT_TOLERANCE)) == [TaskAttempt(A, 2, T.PAUSE, 0), PAUSED]


def test_nothing_is_retried_in_a_stop() -> None:
    runnable = halted(a_plan({"a": []}, fields={"a": {"retry_times": 2}}), W.READY_STOP)
    assert runnable.handle(AttemptEnd(A, 1, T.FAILURE)) == [Finish(W.FAILURE, FAILED)]


@every(("state", "halt"), [(W.READY_PAUSE, HoldTasks()), (W.READY_STOP, STOP_KILLS)])
def test_whoever_claims_failover_holds_or_kills_again(state: W, halt: Effect) -> None:
    """The former owner may have died between the state and its consequences."""
    assert restored(TWO, TaskAttempt(A, 1, T.QUEUED), state=state) == [halt]


def test_whoever_claims_failover_a_pause_whose_tasks_have_ended_ends_it() -> None:
    over = restored(TWO, TaskAttempt(A, 1, T.SUCCESS), TaskAttempt(B, 1, T.PAUSE), state=W.READY_PAUSE)
    assert over == [HoldTasks(), PAUSED]


def test_with_end_a_pause_after_the_failure_spares_nothing() -> None:
    """Seen before: what waited was held, so that in one transaction the kill was forgotten."""
    runnable = a_runnable(TWO, FailureStrategy.END)
    runnable.handle(Started())
    assert runnable.handle(AttemptEnd(A, 1, T.FAILURE)) == [KillTasks()]
    assert runnable.handle(HaltRequest(W.READY_PAUSE)) == [Enter(W.READY_PAUSE), STOP_KILLS]
    assert runnable.handle(AttemptEnd(B, 1, T.KILL)) == [Finish(W.FAILURE, 'task "a" failed, 1 killed')]


TAKEN_UP = a_plan(
    {"a": [], "b": ["a"], "evaluator": ["a"], "c": ["evaluator"]},
    fields={"evaluator": {"type": "CONDITIONS", "params": {"when": {"a": "SUCCESS"}, "on_failure": ["c"]}}},
)
"""b hangs on a, whose failure the evaluator takes up."""


@every("state", [W.READY_PAUSE, W.READY_STOP])
def test_a_failure_that_may_yet_be_taken_up_does_not_fail_what_is_halted(state: W) -> None:
    end = PAUSED if state is W.READY_PAUSE else STOPPED
    assert halted(TAKEN_UP, state).handle(AttemptEnd(A, 1, T.FAILURE)) == [end]


@every("state", [W.READY_PAUSE, W.READY_STOP])
def test_what_only_hangs_on_a_failure_that_was_taken_up_is_not_left_to_do(state: W) -> None:
    """Seen before: it ended as PAUSE, though nothing was left to go on with."""
    runnable = a_runnable(TAKEN_UP)
    runnable.handle(Started())
    runnable.handle(AttemptEnd(A, 1, T.FAILURE))
    runnable.handle(HaltRequest(state))
    assert runnable.handle(AttemptEnd(D, 1, T.SUCCESS)) == [Finish(W.SUCCESS, "")]


# ------------------------------------------------------------------------------------------------ going on


def test_what_was_held_back_begins_when_the_instance_goes_on_and_keeps_its_count() -> None:
    plan = a_plan({"a": []}, fields={"a": {"retry_times": 1, "delay_time": 3}})
    again = [queued(A, 3, 1, (WaitReason.DELAY, 3))]
    assert restored(plan, TaskAttempt(A, 2, T.PAUSE, 1, valid=False)) == again
    assert restored(plan, TaskAttempt(A, 2, T.PAUSE, 1)) == again, "beside failed tasks that run again"


def test_what_has_failed_and_runs_again_has_all_its_retries() -> None:
    plan = a_plan({"a": []}, fields={"a": {"retry_times": 1}})
    assert restored(plan, TaskAttempt(A, 2, T.FAILURE, 1, valid=False)) == [queued(A, 3, 0)]


def test_only_what_is_no_longer_valid_runs_again() -> None:
    attempts = TaskAttempt(A, 1, T.SUCCESS), TaskAttempt(B, 1, T.KILL, valid=False)
    assert restored(CHAIN, *attempts) == [queued(B, 2)]


def test_what_runs_again_goes_before_what_is_after_it() -> None:
    attempts = TaskAttempt(A, 1, T.FAILURE, valid=False), TaskAttempt(B, 1, T.SUCCESS, valid=False)
    runnable = a_runnable(CHAIN)
    assert runnable.handle(Restored(attempts)) == [queued(A, 2)]
    assert runnable.handle(AttemptEnd(A, 2, T.SUCCESS)) == [queued(B, 2)]
