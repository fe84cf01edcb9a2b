"""Busy or not: limits with hysteresis, which never flap, and the settings that make them."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from model.cluster.load import MIB, RUNS_LIMIT, Hysteresis, Limit, LoadSettings, Measure, WorkerLoadSettings
from model.cluster.nodes import NodeStatus
from tests.every import every

NORMAL, BUSY = NodeStatus.NORMAL, NodeStatus.BUSY
MEMORY = Limit(Measure.MEMORY, enter=0.9, leave=0.85)
FREE = Limit(Measure.FREE_DISK, enter=100 * MIB, leave=105 * MIB)
HOLD_S = 10.0

shares = st.floats(0, 1.5)
values = st.fixed_dictionaries(
    {},
    optional={
        Measure.RUNS: shares,
        Measure.MEMORY: shares,
        Measure.FREE_DISK: st.floats(0, 200 * MIB),
    },
)
steps = st.lists(st.tuples(st.floats(0.01, 20), values), max_size=60)
Steps = list[tuple[float, Mapping[Measure, float]]]


def runs(fullness: float) -> dict[Measure, float]:
    return {Measure.RUNS: fullness}


def memory(share: float) -> dict[Measure, float]:
    return {Measure.MEMORY: share}


@given(steps)
def test_two_changes_are_never_closer_than_they_are_held_except_for_a_full_master(steps: Steps) -> None:
    hysteresis, now_s = Hysteresis([RUNS_LIMIT, MEMORY, FREE], HOLD_S), 0.0
    changes: list[tuple[float, NodeStatus, float]] = [(-100.0, NORMAL, 0.0)]
    for pause_s, found in steps:
        now_s += pause_s
        status = hysteresis.update(found, now_s)
        if status is not changes[-1][1]:
            changes.append((now_s, status, found.get(Measure.RUNS, 0.0)))
    for (before_s, _, _), (at_s, status, fullness) in pairwise(changes):
        assert at_s - before_s >= HOLD_S or (status is BUSY and fullness >= 1)


@given(steps)
def test_busy_always_has_a_reason_and_normal_none(steps: Steps) -> None:
    hysteresis, now_s = Hysteresis([RUNS_LIMIT, MEMORY, FREE], HOLD_S), 0.0
    for pause_s, found in steps:
        now_s += pause_s
        assert (hysteresis.update(found, now_s) is BUSY) == bool(hysteresis.because)


@given(st.lists(st.tuples(st.floats(0.01, 20), st.floats(0.8501, 0.9)), max_size=60), st.booleans())
def test_what_wavers_between_its_two_bounds_changes_nothing(
    wavering: list[tuple[float, float]], was_busy: bool
) -> None:
    hysteresis, now_s = Hysteresis([MEMORY], HOLD_S), 0.0
    before = hysteresis.update(memory(0.95 if was_busy else 0.5), now_s)
    for pause_s, share in wavering:
        now_s += pause_s
        assert hysteresis.update(memory(share), now_s) is before


@given(st.floats(0, 1.5), st.booleans())
def test_a_limit_of_which_little_is_bad_is_the_mirror_of_one_of_which_much_is(value: float, was: bool) -> None:
    mirror = Limit(Measure.FREE_DISK, enter=-MEMORY.enter, leave=-MEMORY.leave)
    assert MEMORY.is_passed(value, was_passed=was) == mirror.is_passed(-value, was_passed=was)


@given(steps)
def test_it_turns_busy_only_beyond_a_limit_and_normal_only_behind_all_of_them(steps: Steps) -> None:
    limits = [RUNS_LIMIT, MEMORY, FREE]
    hysteresis, now_s = Hysteresis(limits, HOLD_S), 0.0
    for pause_s, found in steps:
        now_s += pause_s
        before, was = hysteresis.status, hysteresis.passed
        after = hysteresis.update(found, now_s)
        if after is not before:
            passed = [
                limit.is_passed(found[limit.measure], was_passed=limit.measure in was)
                for limit in limits
                if limit.measure in found
            ]
            assert any(passed) == (after is BUSY)


@given(st.lists(st.tuples(st.floats(0.01, 2), st.floats(0.5, 1)), min_size=2, max_size=200))
def test_one_that_wavers_around_its_limit_changes_at_most_once_in_the_time_it_is_held(
    wavering: list[tuple[float, float]],
) -> None:
    hysteresis, now_s, seen = Hysteresis([MEMORY], HOLD_S), 0.0, [NORMAL]
    for pause_s, share in wavering:
        now_s += pause_s
        seen.append(hysteresis.update(memory(share), now_s))
    assert sum(one is not two for one, two in pairwise(seen)) <= now_s / HOLD_S + 1


@every("since_s", [0.0, 0.1, 9.9, 1000.0])
def test_a_full_master_is_busy_at_once(since_s: float) -> None:
    hysteresis = Hysteresis([RUNS_LIMIT], HOLD_S)
    hysteresis.update(runs(1.0), 0)
    assert hysteresis.update(runs(0.1), 10) is NORMAL
    assert hysteresis.update(runs(1.0), 10 + since_s) is BUSY


def test_a_master_that_fills_up_leaves_at_four_fifths_and_is_back_below_three() -> None:
    hysteresis = Hysteresis([RUNS_LIMIT], HOLD_S)
    assert [hysteresis.update(runs(0.7), now) for now in range(0, 100, 10)] == [NORMAL] * 10
    assert hysteresis.update(runs(0.81), 100) is BUSY
    assert [hysteresis.update(runs(0.7), now) for now in range(110, 200, 10)] == [BUSY] * 9
    assert hysteresis.update(runs(0.59), 200) is NORMAL


def test_one_measure_that_comes_back_does_not_end_what_another_goes_on_with() -> None:
    hysteresis = Hysteresis([MEMORY, FREE], HOLD_S)
    hysteresis.update({Measure.MEMORY: 0.95, Measure.FREE_DISK: 50.0 * MIB}, 0)
    assert hysteresis.because == "memory 95 % > 90 %; free disk 50 MiB < 100 MiB"
    assert hysteresis.update({Measure.MEMORY: 0.2, Measure.FREE_DISK: 50.0 * MIB}, 20) is BUSY
    assert hysteresis.because == "free disk 50 MiB < 100 MiB"
    assert hysteresis.update({Measure.MEMORY: 0.2, Measure.FREE_DISK: 500.0 * MIB}, 40) is NORMAL
    assert hysteresis.because == ""


def test_what_is_held_keeps_its_last_reason_and_says_when_a_value_is_on_its_way_back() -> None:
    hysteresis = Hysteresis([MEMORY], HOLD_S)
    hysteresis.update(memory(0.934), 0)
    assert hysteresis.because == "memory 93.4 % > 90 %"
    hysteresis.update(memory(0.87), 3)
    assert hysteresis.because == "memory 87 % (was > 90 %, must be < 85 %)"
    assert hysteresis.update(memory(0.2), 6) is BUSY
    assert hysteresis.because == "memory 87 % (was > 90 %, must be < 85 %)"
    assert hysteresis.passed == frozenset()


def test_a_measure_that_cannot_be_measured_any_more_keeps_nobody_busy() -> None:
    hysteresis = Hysteresis([MEMORY], HOLD_S)
    hysteresis.update(memory(0.95), 0)
    assert hysteresis.update({}, 20) is NORMAL


# ------------------------------------------------------------------------------------------- settings


def test_by_default_memory_the_free_disk_and_an_extreme_load_count_and_cpu_use_does_not() -> None:
    assert {limit.measure for limit in LoadSettings().limits()} == {
        Measure.MEMORY,
        Measure.LOAD,
        Measure.FREE_DESCRIPTORS,
    }
    assert {limit.measure for limit in WorkerLoadSettings().limits()} == {
        Measure.MEMORY,
        Measure.LOAD,
        Measure.FREE_DESCRIPTORS,
        Measure.FREE_DISK,
        Measure.FREE_FILES,
    }


def test_each_measure_can_be_switched_off() -> None:
    assert (
        WorkerLoadSettings(
            memory_max=1, cpu_max=1, load_max=0, descriptors_free_min=0, disk_max=1, disk_free_min=0
        ).limits()
        == ()
    )


def test_the_margin_stands_between_the_two_bounds() -> None:
    settings = WorkerLoadSettings(
        memory_max=0.8, cpu_max=0.9, load_max=10, disk_max=0.7, disk_free_min=1000, margin=0.1
    )
    bounds = {limit.measure: (limit.enter, round(limit.leave, 6)) for limit in settings.limits()}
    assert bounds == {
        Measure.MEMORY: (0.8, 0.7),
        Measure.CPU: (0.9, 0.8),
        Measure.LOAD: (10, 9),
        Measure.FREE_DESCRIPTORS: (32, 35.2),
        Measure.DISK: (0.7, 0.6),
        Measure.FREE_DISK: (1000, 1100),
        Measure.FREE_FILES: (1000, 1100),
    }
    assert settings.hold == timedelta(seconds=10)


@every("name", ["memory_max", "cpu_max", "disk_max"])
def test_a_margin_that_nothing_could_come_back_behind_is_refused_with_a_sentence(name: str) -> None:
    with pytest.raises(ValidationError) as caught:
        WorkerLoadSettings.model_validate({name: 0.04})
    assert f"margin (0.05) must be smaller than {name} (0.04): once BUSY, the node would stay BUSY forever" in str(
        caught.value
    )


@every(
    "wrong",
    [{"memory_max": 0}, {"memory_max": 1.1}, {"margin": 0}, {"load_max": -1}, {"hold": 0}, {"load_max": float("inf")}],
)
def test_limits_that_mean_nothing_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ValidationError):
        LoadSettings.model_validate(wrong)
