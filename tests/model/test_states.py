"""The states and the only ways between them."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

import pytest

from model.states import TASK_TRANSITIONS, WORKFLOW_TRANSITIONS, TaskState, WorkflowState
from model.transition_sql import transition_trigger

Transitions = Mapping[Any, frozenset[Any]]
both = pytest.mark.parametrize(
    ("states", "transitions", "first"),
    [
        (WorkflowState, WORKFLOW_TRANSITIONS, WorkflowState.RUNNING_EXECUTION),
        (TaskState, TASK_TRANSITIONS, TaskState.DELAY_EXECUTION),
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
def test_every_state_says_where_it_may_go(states: type[StrEnum], transitions: Transitions, first: StrEnum) -> None:
    assert set(transitions) == set(states)


@both
def test_exactly_the_final_states_have_no_way_out(states: Any, transitions: Transitions, first: StrEnum) -> None:
    assert {state for state in states if state.is_final} == {state for state in states if not transitions[state]}


@both
def test_every_state_can_be_reached_from_the_first(states: Any, transitions: Transitions, first: StrEnum) -> None:
    assert reachable(transitions, first) == set(states)


@both
def test_from_every_state_an_end_can_be_reached(states: Any, transitions: Transitions, first: StrEnum) -> None:
    finals = {state for state in states if state.is_final}
    assert all(finals & reachable(transitions, start) for start in states)


@both
def test_no_state_is_followed_by_itself(states: Any, transitions: Transitions, first: StrEnum) -> None:
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
