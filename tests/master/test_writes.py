"""One transaction writes a bounded amount, whatever its batch holds."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dao.postgres.errors import BadData
from master.drive.events import Started
from master.drive.runnable import WorkflowRunnable
from master.drive.writes import SIZE_MAX, Writes
from model.definitions.workflow import TASKS_MAX
from model.ids import WorkflowInstanceId
from tests.master.plans import an_instance, plan_of

WIDE = plan_of(
    {"name": f"t{number}", "type": "FAKE", "params": {"outputs": {"a": "x" * 1_000}}} for number in range(TASKS_MAX)
)
"""The most tasks of a workflow, all of them ready at once."""


def _begin(writes: Writes, number: int) -> None:
    runnable = WorkflowRunnable(replace(an_instance(WIDE), id=WorkflowInstanceId(number)), WIDE)
    writes.add(runnable, runnable.handle(Started()))


def test_a_batch_of_large_runs_is_told_to_be_smaller_before_it_fills_the_memory() -> None:
    writes = Writes()
    with pytest.raises(BadData, match="runs at once would have more to write than 128000000 characters"):
        for number in range(500):
            _begin(writes, number)
    assert number == SIZE_MAX // (TASKS_MAX * 1_500)


def test_one_run_alone_is_never_too_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("master.drive.writes.SIZE_MAX", 1_000)
    _begin(Writes(), 1)
