"""Whose turn a duty is: always one master's, whatever the slots."""

from __future__ import annotations

from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from model.cluster.duties import (
    HELD,
    OVERDUE,
    PAUSE_MAX,
    PERIODS,
    STEP_PAUSE_S_MIN,
    STEPS_WITHOUT_PAUSE,
    DutyName,
    is_turn_of,
    pause_after,
    pause_between_steps_s,
    turns_of,
)
from model.cluster.slots import Slot


@given(name=st.text(max_size=40), total=st.integers(min_value=1, max_value=100))
def test_every_duty_is_the_turn_of_exactly_one_master(name: str, total: int) -> None:
    assert sum(is_turn_of(Slot(current, total), name) for current in range(total)) == 1


def test_a_master_without_a_slot_has_no_turn() -> None:
    assert turns_of(None, list(DutyName)) == []
    assert turns_of(Slot(0, 1), list(DutyName)) == list(DutyName)


def test_each_duty_has_a_period_that_is_longer_than_what_others_wait_for() -> None:
    assert PERIODS.keys() == set(DutyName)
    assert min(PERIODS.values()) > 5 * max(OVERDUE, HELD)
    assert timedelta(seconds=5) > OVERDUE, "others begin within five seconds"


@given(failures=st.integers(min_value=1))
def test_pauses_after_failures_grow_and_end(failures: int) -> None:
    assert timedelta(0) < pause_after(failures) <= pause_after(failures + 1) <= PAUSE_MAX


@given(
    steps=st.integers(min_value=0, max_value=10**6), took_s=st.floats(min_value=0, max_value=100), busy=st.booleans()
)
def test_a_duty_of_many_steps_rests_between_them_but_does_not_lose_its_turn(
    steps: int, took_s: float, busy: bool
) -> None:
    pause_s = pause_between_steps_s(steps, took_s, busy=busy)
    assert STEP_PAUSE_S_MIN <= pause_s < HELD.total_seconds()
    if steps < STEPS_WITHOUT_PAUSE:
        assert pause_s == STEP_PAUSE_S_MIN, "all duties of a period are over soon, however slow their steps are"
    elif busy:
        assert pause_s == pause_between_steps_s(STEPS_WITHOUT_PAUSE, 1e9, busy=False), "as long as it may be"
    elif took_s < HELD.total_seconds() / 20:
        assert pause_s >= took_s
