"""Runs that are disturbed while they clean up; and proof that the simulation would see one that does so wrongly."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from master.drive import runnable
from model.runs.closing import Closing
from model.runs.command_moves import CommandType
from tests.simulation.definitions import CLOSING, specs
from tests.simulation.loop import Process
from tests.simulation.run import run
from tests.simulation.workload import ask, move
from tests.simulation.world import FAULTS_S, World

SEEDS = 8
MOVES = 8
KILLED = 0.5
"""The share of masters that die within a second after a run of theirs began to clean up."""


def disturbed(world: World) -> None:
    """A few runs that clean up, people who halt them and run them again, and masters that die as they begin to."""
    random = world.draw("clean-ups of a test")
    for _ in range(6):
        began = partial(ask, world, CommandType.START_PROCESS, workflow_code=str(random.choice(CLOSING)))
        world.loop.in_world(random.uniform(0, FAULTS_S / 2), began)

    for number in range(MOVES):
        own = world.draw("move of a test", number)
        world.loop.in_world(own.uniform(1, FAULTS_S), move, world, own, CLOSING)

    def die(process: Process) -> None:
        if world.random.random() < KILLED:
            world.loop.in_world(world.random.random(), end, process)

    def end(process: Process) -> None:
        if not process.is_dead and not world.is_healed:
            world.kill(process)

    world.at_each("close", die)


@pytest.mark.timeout(300)
def test_what_cleans_up_does_so_once_however_it_is_disturbed() -> None:
    verdicts = [run(seed, also=disturbed) for seed in range(SEEDS)]
    assert [(each.seed, each.violation) for each in verdicts if each.violation] == []


def overlooked(*_: Any) -> frozenset[Any]:
    """Nothing cleans up."""
    return frozenset()


def all_at_once(closing: Closing, _: Any) -> list[Any]:
    """In any order, including tasks that must not run."""
    return list(closing._plan.closing)


@pytest.mark.long
@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    ("module", "name", "wrong"), [(runnable, "closing_tasks", overlooked), (Closing, "_beginning", all_at_once)]
)
def test_cleaning_up_wrongly_is_seen(
    monkeypatch: pytest.MonkeyPatch, module: Any, name: str, wrong: Callable[..., Any]
) -> None:
    monkeypatch.setattr(module, name, wrong)
    found = (run(seed, also=disturbed).violation or "" for seed in range(12))
    assert any(violation.startswith("I31") for violation in found)


def test_every_kind_of_task_that_cleans_up_is_simulated() -> None:
    tasks = [task for code in CLOSING for task in specs()[code].tasks if task.is_closing]
    kinds = {(task.on_exit, bool(task.after), task.retry_times > 0) for task in tasks}
    assert {(is_on_exit, has_before) for is_on_exit, has_before, _ in kinds} == {
        *((False, False), (False, True), (True, False), (True, True))
    }
    assert any(retries for _, _, retries in kinds)
