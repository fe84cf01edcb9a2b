"""Proof that the simulation would see a task that starts against its rule, or is left out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from model.choices import StartWhen
from model.runs import ready_tasks
from model.runs.start_rules import Decision, decision
from tests.simulation.definitions import RULED, specs
from tests.simulation.run import run
from tests.simulation.workload import run_ruled

SEEDS = 40

Decide = Callable[..., Decision | None]


def too_early(rule: StartWhen, *, waits: bool, **ends: bool) -> Decision | None:
    """`all_done` as if nothing waited."""
    return decision(rule, waits=waits and rule is not StartWhen.ALL_DONE, **ends)


def overlooked(rule: StartWhen, *, failed: bool, **ends: bool) -> Decision | None:
    """`one_failed` as if nothing failed."""
    return decision(rule, failed=failed and rule is not StartWhen.ONE_FAILED, **ends)


@pytest.mark.long
@pytest.mark.timeout(300)
@pytest.mark.parametrize("wrong", [too_early, overlooked])
def test_a_rule_that_is_decided_wrongly_is_seen(monkeypatch: pytest.MonkeyPatch, wrong: Decide) -> None:
    monkeypatch.setattr(ready_tasks, "decision", wrong)
    found = (run(seed, also=run_ruled).violation or "" for seed in range(SEEDS))
    assert any(violation.startswith("I30") for violation in found)


@pytest.mark.long
@pytest.mark.timeout(300)
@pytest.mark.parametrize("taken_for", [ready_tasks.Progress.succeeded, ready_tasks.Progress.failed])
def test_what_skipped_itself_and_is_taken_for_something_else_is_seen(
    monkeypatch: pytest.MonkeyPatch, taken_for: Callable[..., Any]
) -> None:
    monkeypatch.setattr(ready_tasks.Progress, "skipped_itself", taken_for)
    found = (run(seed, also=run_ruled).violation or "" for seed in range(SEEDS))
    assert any(violation.startswith("I30") for violation in found)


def test_every_rule_is_simulated() -> None:
    assert {task.start_when for code in RULED for task in specs()[code].tasks} == set(StartWhen)
