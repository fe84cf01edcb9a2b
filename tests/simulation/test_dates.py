"""Dates that wait for the one before; and proof that the simulation would see one that does not."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import pytest

from dao.runs import dependent_verdicts
from model.logic.dependent import State
from tests.simulation.run import run
from tests.simulation.wiring import models
from tests.simulation.workload import fill_dates
from tests.simulation.world import World

SEEDS = 8


def filled(world: World) -> None:
    """Dates of one workflow, while all the faults happen."""
    fill_dates(world, world.draw("dates of a test"))


@pytest.mark.timeout(300)
def test_no_date_begins_before_the_one_before_it_has_succeeded() -> None:
    verdicts = [run(seed, also=filled) for seed in range(SEEDS)]
    assert [(each.seed, each.violation) for each in verdicts if each.violation] == []


def none_coming(*_: Any) -> Collection[Any]:
    """As if every requested date had a run."""
    return set()


def any_end(*_: Any) -> State:
    """As if any end of the date before were good enough."""
    return State.SUCCESS


@pytest.mark.long
@pytest.mark.timeout(300)
def test_a_date_whose_run_is_not_there_yet_is_not_overlooked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(models(), "dao.runs.dependencies.coming", none_coming)
    found = (run(seed, also=filled).violation or "" for seed in range(48))
    assert any(violation.startswith("I33") for violation in found)


@pytest.mark.long
@pytest.mark.timeout(300)
def test_a_date_before_that_failed_is_not_overlooked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dependent_verdicts, "_state", any_end)
    found = (run(seed, also=filled).violation or "" for seed in range(12))
    assert any(violation.startswith("I33") for violation in found)
