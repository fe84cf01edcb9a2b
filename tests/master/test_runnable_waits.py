"""The state machine with WAIT tasks: a run that only looks for something takes up no room."""

from __future__ import annotations

from master.drive.events import Restored, Started
from master.drive.runnable import WorkflowRunnable as Runnable
from model.ids import TaskCode
from model.runs.instances import AttemptEnd, TaskAttempt
from model.runs.states import TaskState as T
from tests.every import every
from tests.master.plans import a_plan, a_runnable

A, B = TaskCode(1), TaskCode(2)
WAITS = {"type": "WAIT", "params": {"for": {"file": "/there"}}}


def _runnable(*, beside: bool = False) -> Runnable:
    """A WAIT task, and a task after it, or beside it."""
    return a_runnable(a_plan({"a": [], "b": [] if beside else ["a"]}, fields={"a": WAITS}))


def test_a_run_that_only_looks_takes_up_no_room_until_its_next_task_begins() -> None:
    runnable = _runnable()
    runnable.handle(Started())
    assert runnable.only_waits
    runnable.came_due(A, 1)
    assert runnable.only_waits, "a look is over in a moment"
    runnable.handle(AttemptEnd(A, 1, T.SUCCESS))
    assert not runnable.only_waits


def test_one_with_another_task_under_way_takes_up_room() -> None:
    runnable = _runnable(beside=True)
    runnable.handle(Started())
    assert not runnable.only_waits


@every("state", [T.QUEUED, T.RUNNING_EXECUTION, T.DELAY_EXECUTION])
def test_a_new_owner_finds_it_looking_and_begins_nothing(state: T) -> None:
    runnable = _runnable()
    assert runnable.handle(Restored((TaskAttempt(A, 3, state),))) == []
    assert (runnable.only_waits, runnable.under_way()) == (True, [(A, 3)])
