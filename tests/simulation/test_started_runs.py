"""Runs that tasks start without waiting, while masters die; and proof that a second start of one would be seen."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from dao.runs.workflow_instances import NewInstance
from tests.simulation.loop import Process
from tests.simulation.run import run
from tests.simulation.statements.runs import workflow_instances
from tests.simulation.tables import Row, Transaction
from tests.simulation.wiring import models
from tests.simulation.workload import start_others
from tests.simulation.world import World

SEEDS = 8
KILLED = 0.5
"""The share of masters that die within a moment after they requested such a run."""


def disturbed(world: World) -> None:
    """A few runs that start others, and masters that die after they have asked for those."""
    start_others(world, 1.0)

    def die(process: Process) -> None:
        if world.random.random() < KILLED:
            world.loop.in_world(world.random.random() / 4, end, process)

    def end(process: Process) -> None:
        if not process.is_dead and not world.is_healed:
            world.kill(process)

    world.at_each("start", die)


@pytest.mark.timeout(300)
def test_each_attempt_starts_one_run_however_often_its_master_dies() -> None:
    verdicts = [run(seed, also=disturbed) for seed in range(SEEDS)]
    assert [(each.seed, each.violation) for each in verdicts if each.violation] == []


def nothing_there(*_: Any) -> dict[Any, Any]:
    """As if nobody had started the run before."""
    return {}


def unchecked(tx: Transaction, row: Row, new: NewInstance) -> str | None:
    """Without the unique index of what tasks start."""
    return _SAME_KEY(tx, row, replace(new, started_by=None))


_SAME_KEY = workflow_instances._same_key


@pytest.mark.long
@pytest.mark.timeout(300)
def test_a_second_start_of_one_run_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(models(), "dao.runs.started_runs.existing", nothing_there)
    monkeypatch.setattr(workflow_instances, "_same_key", unchecked)
    found = (run(seed, also=disturbed).violation or "" for seed in range(48))
    assert any(violation.startswith("I35") for violation in found)
