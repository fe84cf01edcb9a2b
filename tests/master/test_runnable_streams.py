"""The state machine with streams: which ends are followed by another attempt, when, and what a halt makes of them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from master.drive.events import Finish, HoldTasks, KillTasks, Restored, Started
from master.drive.runnable import WorkflowRunnable as Runnable
from model.ids import TaskCode
from model.runs.instances import AttemptEnd, HaltRequest, TaskAttempt
from model.runs.states import TaskState as T
from model.runs.states import WaitReason
from model.runs.states import WorkflowState as W
from tests.every import every
from tests.master.plans import a_plan, a_runnable

A, B = TaskCode(1), TaskCode(2)


def _runnable(**stream: Any) -> Runnable:
    """A stream and a task after it, started."""
    fields = {"stream": True, "restart_pause": "1s", "restart_pause_max": "8s", "healthy_after": "1m", **stream}
    runnable = a_runnable(a_plan({"a": [], "b": ["a"]}, fields={"a": fields}))
    runnable.handle(Started())
    return runnable


def _ended(runnable: Runnable, attempt: int, state: T, ran_s: float = 0, code: TaskCode = A) -> list[Any]:
    return runnable.handle(AttemptEnd(code, attempt, state, ran_s=ran_s))


def _next(effects: list[Any]) -> TaskAttempt:
    [attempt] = effects
    assert isinstance(attempt, TaskAttempt)
    return attempt


def test_a_stream_is_started_again_after_growing_pauses_that_a_healthy_time_makes_short() -> None:
    runnable, pauses = _runnable(), []
    for number in range(1, 7):
        attempt = _next(_ended(runnable, number, T.SUCCESS if number % 2 else T.FAILURE, ran_s=5))
        assert (attempt.attempt, attempt.state, attempt.wait_reason) == (
            number + 1,
            T.DELAY_EXECUTION,
            WaitReason.RETRY,
        )
        assert attempt.retries == number
        pauses.append(attempt.due_in_minutes * 60)
    for pause, whole in zip(pauses, (1, 2, 4, 8, 8, 8), strict=True):
        assert whole / 2 <= pause <= whole
    healthy = _next(_ended(runnable, 7, T.FAILURE, ran_s=60))
    assert healthy.retries == 1
    assert healthy.due_in_minutes * 60 <= 1


def test_the_pauses_of_streams_that_end_together_differ_and_are_the_same_whoever_computes_them() -> None:
    one, same = (_next(_ended(_runnable(), 1, T.FAILURE)) for _ in range(2))
    assert one == same
    assert one.due_in_minutes != _next(_ended(_runnable(restart_pause="1001ms"), 1, T.FAILURE)).due_in_minutes


@every("end", [T.PAUSE, T.NEED_FAULT_TOLERANCE])
def test_one_that_moved_or_was_lost_is_queued_at_once_and_counts_as_no_failure(end: T) -> None:
    attempt = _next(_ended(_runnable(), 1, end))
    assert (attempt.attempt, attempt.state, attempt.retries) == (2, T.QUEUED, 0)


@every("end", [T.PAUSE, T.NEED_FAULT_TOLERANCE])
@every(("ran_s", "failures"), [(59, 3), (60, 0)])
def test_one_that_had_run_for_long_before_it_moved_begins_with_the_first_pause(
    end: T, ran_s: float, failures: int
) -> None:
    runnable = _runnable()
    for number in range(1, 4):
        _ended(runnable, number, T.FAILURE)
    assert _next(_ended(runnable, 4, end, ran_s)).retries == failures
    assert _next(_ended(runnable, 5, T.FAILURE)).retries == failures + 1


def test_with_on_failure_a_success_lets_the_graph_go_on_and_a_failure_does_not() -> None:
    runnable = _runnable(restart="on_failure")
    assert _next(_ended(runnable, 1, T.FAILURE)).state is T.DELAY_EXECUTION
    assert _next(_ended(runnable, 2, T.SUCCESS)).code == B


def test_with_never_each_end_is_the_end() -> None:
    assert _next(_ended(_runnable(restart="never"), 1, T.SUCCESS)).code == B
    assert _ended(_runnable(restart="never"), 1, T.FAILURE) == [Finish(W.FAILURE, 'task "a" failed')]
    assert _next(_ended(_runnable(restart="never"), 1, T.NEED_FAULT_TOLERANCE)).state is T.QUEUED


def test_a_loss_is_the_end_of_a_stream_that_may_not_run_again() -> None:
    effects = _ended(_runnable(on_worker_loss="fail"), 1, T.NEED_FAULT_TOLERANCE)
    assert effects[-1] == Finish(W.FAILURE, 'task "a" was lost with its worker, and may not run again')


@every("end", [T.PAUSE, T.SUCCESS, T.FAILURE, T.NEED_FAULT_TOLERANCE])
def test_a_pause_holds_a_stream_back_however_it_ends(end: T) -> None:
    runnable = _runnable()
    assert HoldTasks() in runnable.handle(HaltRequest(W.READY_PAUSE))
    effects = _ended(runnable, 1, end)
    assert effects[-1] == Finish(W.PAUSE, "it was paused")
    assert not [each for each in effects if isinstance(each, TaskAttempt) and each.state is T.QUEUED]


@every("end", [T.KILL, T.PAUSE, T.FAILURE, T.SUCCESS])
def test_a_stop_ends_a_stream_for_good(end: T) -> None:
    runnable = _runnable()
    assert any(isinstance(each, KillTasks) for each in runnable.handle(HaltRequest(W.READY_STOP)))
    [finish] = _ended(runnable, 1, end)
    assert isinstance(finish, Finish)
    assert finish.state is W.STOP


@every("end", [T.KILL, T.FAILURE, T.SUCCESS, T.NEED_FAULT_TOLERANCE])
def test_and_its_run_also_if_another_task_has_failed(end: T) -> None:
    runnable = a_runnable(a_plan({"a": [], "b": []}, fields={"a": {"stream": True}}))
    runnable.handle(Started())
    _ended(runnable, 1, T.FAILURE, code=B)
    runnable.handle(HaltRequest(W.READY_STOP))
    [finish] = _ended(runnable, 1, end)
    assert isinstance(finish, Finish)
    assert finish.state is W.STOP


def test_a_stream_that_would_not_be_started_again_ends_as_it_ended_though_its_run_is_stopped() -> None:
    runnable = a_runnable(a_plan({"a": []}, fields={"a": {"stream": True, "restart": "on_failure"}}))
    runnable.handle(Started())
    runnable.handle(HaltRequest(W.READY_STOP))
    [finish] = _ended(runnable, 1, T.SUCCESS)
    assert isinstance(finish, Finish)
    assert finish.state is W.SUCCESS


@every(("end", "ran_s", "failures"), [(T.SUCCESS, 3.0, 5), (T.FAILURE, 3.0, 5), (T.FAILURE, 90.0, 1)])
def test_a_later_owner_starts_what_ended_before_it_as_its_rows_say(end: T, ran_s: float, failures: int) -> None:
    runnable = a_runnable(a_plan({"a": []}, fields={"a": {"stream": True}}))
    row = TaskAttempt(A, 9, end, retries=4, ran_s=ran_s)
    attempt = _next(runnable.handle(Restored((row,))))
    assert (attempt.attempt, attempt.state, attempt.retries) == (10, T.DELAY_EXECUTION, failures)


@every("end", [T.PAUSE, T.KILL])
@every(("ran_s", "failures"), [(59.0, 5), (60.0, 1)])
def test_one_that_had_run_for_long_before_its_run_was_halted_begins_with_the_first_pause(
    end: T, ran_s: float, failures: int
) -> None:
    runnable = a_runnable(a_plan({"a": []}, fields={"a": {"stream": True, "healthy_after": "1m"}}))
    row = TaskAttempt(A, 9, end, retries=4, ran_s=ran_s, valid=end is T.PAUSE)
    assert _next(runnable.handle(Restored((row,)))).attempt == 10
    assert _next(_ended(runnable, 10, T.FAILURE)).retries == failures


def test_a_dry_run_of_a_stream_ends() -> None:
    plan = a_plan({"a": []}, fields={"a": {"stream": True}})
    runnable = Runnable(replace(a_runnable(plan).instance, dry_run=True), plan)
    runnable.handle(Started())
    _ended(runnable, 1, T.SUCCESS)
    assert runnable.state is W.SUCCESS
