"""Runs that trigger others, under all faults; and proof that the simulation would see an event lost or told twice."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from model.definitions.plan import Plan
from tests.simulation.run import run
from tests.simulation.statements.runs import triggers
from tests.simulation.tables import Transaction
from tests.simulation.wiring import models
from tests.simulation.workload import trigger_others
from tests.simulation.world import World

SEEDS = 8


def disturbed(world: World) -> None:
    """Runs with triggers, while all the faults happen."""
    trigger_others(world, 1.0)


@pytest.mark.timeout(300)
def test_each_event_starts_what_waits_for_it_once() -> None:
    verdicts = [run(seed, also=disturbed) for seed in range(SEEDS)]
    assert [(each.seed, each.violation) for each in verdicts if each.violation] == []


def forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if a master that takes over a run ignored earlier successes."""
    monkeypatch.setattr(Plan, "updates_datasets", property(lambda _: False))


def told_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if no row said that what waits for its success was started."""
    told = triggers.after_updates

    def again(tx: Transaction, *args: Any) -> None:
        for row, task in tx.scan(tx.server.tasks.rows):
            if task.updated_datasets is not None and row.owner is None:
                tx.update(row, updated_datasets=None)
        told(tx, *args)

    monkeypatch.setitem(models(), "dao.runs.triggers.after_updates", again)


def unheard(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if nothing waited for the ends of runs."""
    monkeypatch.setattr(triggers, "after_runs", lambda *_: None)


def begun_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if a wait for several datasets forgot the earlier updates."""
    heard = triggers.heard

    def forgetful(tx: Transaction, known: Any) -> Any:
        for row, _ in tx.scan(tx.server.dataset_waits.rows):
            tx.update(row, missing=[])
        return heard(tx, known)

    monkeypatch.setattr(triggers, "heard", forgetful)


@pytest.mark.long
@pytest.mark.timeout(300)
@pytest.mark.parametrize("wrong", [forgotten, told_again, unheard, begun_anew])
def test_an_event_that_is_lost_or_told_twice_is_seen(
    monkeypatch: pytest.MonkeyPatch, wrong: Callable[[pytest.MonkeyPatch], None]
) -> None:
    wrong(monkeypatch)
    found = (run(seed, also=disturbed).violation or "" for seed in range(72))
    assert any(violation.startswith("I37") for violation in found)
