"""The children of an attempt, as its line in the page of a run names them (`service/runs/showing.py`)."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from dao.runs.relations import ChildRun
from model.ids import TaskCode, WorkflowInstanceId
from model.runs.states import WorkflowState
from service.runs.showing import said_children

TASK: Any = SimpleNamespace(code=TaskCode(1), attempt=1)


def child(id_: int, index: int, project: str = "p") -> ChildRun:
    state = WorkflowState.FAILURE if index == 0 else WorkflowState.SUCCESS
    return ChildRun(WorkflowInstanceId(id_), project, "w", state, TaskCode(1), 1, index)


def test_many_are_counted_and_the_ids_are_the_lowest_and_the_highest_of_all() -> None:
    """They come in the order of their tuples: a tuple may have started late."""
    children = [child(70, 0), child(61, 1), child(62, 2), child(63, 3)]
    assert said_children(children, TASK, None) == "4 runs from 61 to 70: 1 FAILURE, 3 SUCCESS"
    assert said_children(children[:2], TASK, None) == "run 70 (FAILURE), run 61 (SUCCESS)"


def test_the_ids_of_another_projects_runs_are_not_named() -> None:
    children = [child(70, 0, "theirs"), child(61, 1, "theirs")]
    assert said_children(children, TASK, {"p"}) == "2 runs of another project: 1 FAILURE, 1 SUCCESS"
