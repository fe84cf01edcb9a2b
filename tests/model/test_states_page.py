"""docs/reference/states.md shows the states as they are."""

from __future__ import annotations

from pathlib import Path

from model.runs.command_moves import STARTING, CommandType
from model.runs.states import TASK_TRANSITIONS, WORKFLOW_TRANSITIONS, TaskState, WorkflowState
from tests.model.command_drawing import command_drawing
from tests.model.transition_drawing import transition_drawing

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "states.md"


def test_the_drawings_are_made_from_the_tables() -> None:
    page = PAGE.read_text()
    for drawing in (
        transition_drawing(
            [WorkflowState.SERIAL_WAIT, WorkflowState.RUNNING_EXECUTION],
            WORKFLOW_TRANSITIONS,
        ),
        transition_drawing([TaskState.QUEUED, TaskState.DELAY_EXECUTION], TASK_TRANSITIONS),
        command_drawing(),
    ):
        assert drawing in page, f"put this into docs/reference/states.md:\n\n{drawing}"


def test_each_state_is_explained() -> None:
    page = PAGE.read_text()
    for state in [*WorkflowState, *TaskState]:
        assert f"| {state} |" in page


def test_what_a_command_asks_for_is_said_of_those_too_that_change_no_run() -> None:
    page = PAGE.read_text()
    assert all(type_ in page for type_ in CommandType)
    assert len(STARTING) == 4
