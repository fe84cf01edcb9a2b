"""The laws of a workflow instance's state machine, whatever happens to it: `World` states them one by one."""

from __future__ import annotations

import os
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from master.drive.events import Finish
from master.drive.runnable import WorkflowRunnable as Runnable
from model.choices import FailureStrategy
from model.runs.states import TaskState as T
from model.runs.states import WorkflowState
from tests.master.plans import any_plan
from tests.master.world import World

TIMES = int(os.environ.get("SHOAL_TEST_TIMES", "1"))
"""The factor for the number of examples."""
seeds = st.integers(0, 2**32)
sizes = st.one_of(st.integers(1, 12), st.integers(1, 200))
strategies = st.sampled_from(FailureStrategy)
failing = st.sampled_from([0.0, 0.05, 0.3, 0.6])


def a_run(size: int, strategy: FailureStrategy, seed: int, failing: float) -> World:
    """Some steps in which anything happens, and then an end in peace; again and again, since it can be revived."""
    random = Random(seed)
    plan = any_plan(random, size)
    world = World(plan, strategy, random, failing)
    for _ in range(random.randint(1, 3)):
        for _ in range(random.randrange(2 * len(plan.tasks) + 30)):
            world.step()
        world.settle()
        world.revive()
    world.settle()
    return world


@settings(max_examples=150 * TIMES)
@given(sizes, strategies, seeds, failing)
def test_whatever_happens_it_ends_and_breaks_no_rule(
    size: int, strategy: FailureStrategy, seed: int, failing: float
) -> None:
    """Goal: each rule holds through losses, halts, revivals, roll-backs and failovers, and nothing gets stuck."""
    a_run(size, strategy, seed, failing)


@settings(max_examples=50 * TIMES)
@given(sizes, strategies, seeds, failing)
def test_the_same_events_give_the_same_effects(size: int, strategy: FailureStrategy, seed: int, failing: float) -> None:
    world = a_run(size, strategy, seed, failing)
    for instance, life in world.lives:
        again = Runnable(instance, world.plan)
        assert [again.handle(event) for event, _ in life] == [effects for _, effects in life]


@settings(max_examples=50 * TIMES)
@given(sizes, strategies, seeds)
def test_without_failures_each_task_runs_once(size: int, strategy: FailureStrategy, seed: int) -> None:
    plan = any_plan(Random(seed), size, plain=True)
    world = World(plan, strategy, Random(seed), failing=0, disturbed=False)
    world.settle()
    assert world.end == Finish(WorkflowState.SUCCESS, "")
    assert {code: [row.state for row in rows] for code, rows in world.rows.items()} == {
        code: [T.SUCCESS] for code in plan.tasks
    }
