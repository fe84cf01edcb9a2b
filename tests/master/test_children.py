"""What becomes of the children of DYNAMIC when somebody runs one of them again."""

from __future__ import annotations

from master.events import ChildFinished, Effect, EndTask, Finish, StartChild
from master.runnable import WorkflowRunnable as Runnable
from model.ids import TaskCode
from model.states import TaskState, WorkflowState
from tests.master.test_runnable import started
from tests.master.world import a_plan

A = TaskCode(1)
W = WorkflowState


def three_children_two_at_a_time() -> Runnable:
    lists = [{"name": "x", "value": "1,2,3"}]
    params = {"workflow": "below", "lists": lists, "parallelism": 2}
    return started(a_plan({"a": []}, fields={"a": {"type": "DYNAMIC", "params": params}}))


def end(runnable: Runnable, index: int, state: WorkflowState) -> list[Effect]:
    return runnable.handle(ChildFinished(A, 1, index, state))


def test_a_child_that_failed_and_then_succeeded_holds_up_no_other() -> None:
    """Seen in the simulation: it counted as failed for ever, so that the third was never begun, and then missed."""
    runnable = three_children_two_at_a_time()
    assert end(runnable, 1, W.FAILURE) == []
    begun = end(runnable, 1, W.SUCCESS)
    assert [each.index for each in begun if isinstance(each, StartChild)] == [2]
    end(runnable, 0, W.SUCCESS)
    last = end(runnable, 2, W.SUCCESS)
    assert [each.state for each in last if isinstance(each, EndTask | Finish)] == [TaskState.SUCCESS, W.SUCCESS]


def test_a_child_that_failed_and_now_rests_is_waited_for() -> None:
    runnable = three_children_two_at_a_time()
    end(runnable, 1, W.FAILURE)
    end(runnable, 1, W.PAUSE)
    assert [type(each) for each in end(runnable, 0, W.SUCCESS)] == [StartChild]
    assert end(runnable, 2, W.SUCCESS) == []
    assert [type(each) for each in end(runnable, 1, W.SUCCESS)] == [EndTask, Finish]
