"""The timeouts of runs: the limits in a definition and in the settings, and what a run does that reaches one."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest

import master.drive.run_timeouts
from master.drive.events import Finish, KillTasks, Started, TookTooLong
from master.drive.run_timeouts import Lengths, Limits
from model.definitions.workflow import WorkflowSpec
from model.ids import TaskCode, WorkflowInstanceId
from model.runs.instances import AttemptEnd, HaltRequest
from model.runs.states import TaskState as T
from model.runs.states import WorkflowState as W
from tests.every import every
from tests.master.plans import a_plan, a_runnable

A, B = TaskCode(1), TaskCode(2)
HOUR = timedelta(hours=1)
TOO_LONG = "it took longer than its timeout of 5 min"


def spec(**fields: object) -> WorkflowSpec:
    return WorkflowSpec.parse({"tasks": [{"name": "a", "type": "FAKE"}], **fields})


@every(
    ("fields", "longest", "warn_s", "fail_s"),
    [
        ({}, None, None, None),
        ({"timeout_minutes": 5}, None, 300, None),
        ({"timeout_minutes": 5, "timeout_strategy": "WARN"}, HOUR, 300, 3600),
        ({"timeout_minutes": 5, "timeout_strategy": "FAILED"}, None, None, 300),
        ({"timeout_minutes": 5, "timeout_strategy": "FAILED"}, HOUR, None, 300),
        ({"timeout_minutes": 5, "timeout_strategy": "WARNFAILED"}, None, 300, 300),
        ({"timeout_minutes": 90, "timeout_strategy": "FAILED"}, HOUR, None, 3600),
        ({"timeout_strategy": "FAILED"}, None, None, None),
        ({}, HOUR, None, 3600),
    ],
)
def test_a_run_has_the_stricter_of_its_own_limit_and_that_of_all(
    fields: dict[str, object], longest: timedelta | None, warn_s: float | None, fail_s: float | None
) -> None:
    limits = Limits.of(spec(**fields), longest)
    assert (limits.warn_s, limits.fail_s) == (warn_s, fail_s)
    assert limits.next_after(0) == min((each for each in (warn_s, fail_s) if each), default=None)


async def test_a_timer_counts_the_time_that_the_machine_sleeps(monkeypatch: pytest.MonkeyPatch) -> None:
    now_s = 1_000.0
    monkeypatch.setattr(master.drive.run_timeouts, "boottime_s", lambda: now_s)
    wake = asyncio.Event()
    lengths = Lengths(wake, HOUR)
    early, late = WorkflowInstanceId(1), WorkflowInstanceId(2)
    lengths.ring_at(early, 300, 0)
    lengths.ring_at(late, 3_000, 0)
    lengths.ring_late()
    assert not wake.is_set()
    now_s = 1_400.0
    lengths.ring_late()
    assert wake.is_set()
    assert lengths.take() == {early}
    lengths.drop(late)
    now_s = 9_000.0
    lengths.ring_late()
    assert lengths.take() == set()


def test_the_reason_says_which_limit_it_was() -> None:
    own = spec(timeout_minutes=5, timeout_strategy="FAILED")
    assert Limits.of(own, None).why == TOO_LONG
    assert Limits.of(own, timedelta(minutes=2)).why == "it took longer than any run may, 2 min (master.longest_run)"


def test_a_run_that_took_too_long_has_its_tasks_killed_and_fails_whatever_they_come_to() -> None:
    for end in (T.KILL, T.SUCCESS, T.FAILURE):
        runnable = a_runnable(a_plan({"a": [], "b": ["a"]}))
        runnable.handle(Started())
        assert runnable.handle(TookTooLong(TOO_LONG)) == [KillTasks(TOO_LONG)]
        assert runnable.handle(TookTooLong(TOO_LONG)) == []
        assert runnable.handle(AttemptEnd(A, 1, end)) == [Finish(W.FAILURE, TOO_LONG, None)]


def test_while_it_is_being_paused_it_may_take_too_long_and_while_it_is_being_stopped_it_is_stopped() -> None:
    for halt, ends in ((W.READY_PAUSE, Finish(W.FAILURE, TOO_LONG, None)), (W.READY_STOP, None)):
        runnable = a_runnable(a_plan({"a": []}))
        runnable.handle(Started())
        runnable.handle(HaltRequest(halt))
        told = runnable.handle(TookTooLong(TOO_LONG))
        assert bool(told) == (ends is not None)
        (end,) = runnable.handle(AttemptEnd(A, 1, T.KILL))
        assert end == (ends or Finish(W.STOP, "it was stopped", None))


def test_a_stop_that_comes_after_it_took_too_long_wins() -> None:
    runnable = a_runnable(a_plan({"a": []}))
    runnable.handle(Started())
    runnable.handle(TookTooLong(TOO_LONG))
    runnable.handle(HaltRequest(W.READY_STOP))
    assert runnable.handle(AttemptEnd(A, 1, T.KILL)) == [Finish(W.STOP, "it was stopped", None)]
