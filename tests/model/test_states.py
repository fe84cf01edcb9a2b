"""The states and the only ways between them."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

import pytest

from model.runs.states import TASK_TRANSITIONS, WORKFLOW_TRANSITIONS, TaskState, WorkflowState
from tests.dao.transition_sql import transition_trigger

W = WorkflowState
Transitions = Mapping[Any, frozenset[Any]]
both = pytest.mark.parametrize(
    ("states", "transitions", "firsts"),
    [
        (WorkflowState, WORKFLOW_TRANSITIONS, [WorkflowState.SERIAL_WAIT, WorkflowState.RUNNING_EXECUTION]),
        (TaskState, TASK_TRANSITIONS, [TaskState.DELAY_EXECUTION, TaskState.QUEUED]),
    ],
    ids=["workflow", "task"],
)


def reachable(transitions: Transitions, first: StrEnum) -> set[StrEnum]:
    found, pending = {first}, [first]
    while pending:
        new = transitions[pending.pop()] - found
        found |= new
        pending += new
    return found


@both
def test_every_state_says_where_it_may_go(
    states: type[StrEnum], transitions: Transitions, firsts: list[StrEnum]
) -> None:
    assert set(transitions) == set(states)


def test_a_run_leaves_exactly_the_final_states_only_to_run_again() -> None:
    again = frozenset({WorkflowState.RUNNING_EXECUTION})
    in_line = again | {WorkflowState.SERIAL_WAIT}
    for state, after in WORKFLOW_TRANSITIONS.items():
        assert state.is_final == (after in (again, in_line)), state


def test_an_attempt_leaves_exactly_the_final_states_only_when_a_person_declares_it_a_success() -> None:
    forced = {TaskState.FORCED_SUCCESS}
    for state, after in TASK_TRANSITIONS.items():
        assert state.is_final == (after <= forced), state
    assert {state for state, after in TASK_TRANSITIONS.items() if after == forced} == {
        TaskState.FAILURE,
        TaskState.KILL,
        TaskState.NEED_FAULT_TOLERANCE,
    }


def test_exactly_what_a_master_drives_is_neither_final_nor_waiting_nor_between_two_masters() -> None:
    between = {W.SERIAL_WAIT, W.FAILOVER}
    assert {state for state in W if state.is_driven} == {state for state in W if not state.is_final} - between


def test_a_stop_overrules_a_pause_and_never_the_other_way_round() -> None:
    assert W.READY_STOP in WORKFLOW_TRANSITIONS[W.READY_PAUSE]
    assert W.READY_PAUSE not in WORKFLOW_TRANSITIONS[W.READY_STOP]
    assert W.PAUSE not in WORKFLOW_TRANSITIONS[W.READY_STOP]


def test_whatever_waits_can_be_paused_and_stopped_at_once() -> None:
    assert {W.PAUSE, W.STOP} <= WORKFLOW_TRANSITIONS[W.SERIAL_WAIT]
    for each in (TaskState.DELAY_EXECUTION, TaskState.QUEUED):
        assert {TaskState.PAUSE, TaskState.KILL} <= TASK_TRANSITIONS[each]


@both
def test_every_state_can_be_reached_from_a_first_one(
    states: Any, transitions: Transitions, firsts: list[StrEnum]
) -> None:
    assert set().union(*(reachable(transitions, first) for first in firsts)) == set(states)


@both
def test_from_every_state_an_end_can_be_reached(states: Any, transitions: Transitions, firsts: list[StrEnum]) -> None:
    finals = {state for state in states if state.is_final}
    assert all(finals & reachable(transitions, start) for start in states)


@both
def test_no_state_is_followed_by_itself(states: Any, transitions: Transitions, firsts: list[StrEnum]) -> None:
    assert all(state not in followers for state, followers in transitions.items())


def test_an_attempt_never_succeeds_without_having_run() -> None:
    assert [state for state, after in TASK_TRANSITIONS.items() if TaskState.SUCCESS in after] == [
        TaskState.RUNNING_EXECUTION
    ]


def test_the_trigger_lists_every_pair_once() -> None:
    trigger = transition_trigger("task_instance", TASK_TRANSITIONS)
    pairs = [(old, new) for old, news in TASK_TRANSITIONS.items() for new in news]
    assert all(trigger.count(f"('{old}', '{new}')") == 1 for old, new in pairs)
    assert trigger.count("('") == len(pairs)
