"""Approvals under all faults; and proof that the simulation would see an answer that is lost or applied twice."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from dao.tasks.task_events import TaskEvent
from model.ids import TaskInstanceId
from model.runs.instances import AttemptEnd
from model.runs.states import TaskState
from tests.simulation import approvals as people
from tests.simulation.run import run
from tests.simulation.statements.tasks import approvals, task_events
from tests.simulation.tables import Transaction, Values
from tests.simulation.wiring import models
from tests.simulation.workload import ask
from tests.simulation.world import World

SEEDS = 8


def disturbed(world: World) -> None:
    """Runs that ask, while all the faults happen."""
    people.arrange(world, partial(ask, world), 1.0)


@pytest.mark.timeout(300)
def test_each_answer_is_applied_once() -> None:
    verdicts = [run(seed, also=disturbed) for seed in range(SEEDS)]
    assert [(each.seed, each.violation) for each in verdicts if each.violation] == []


def answered_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if an answer did not check whether the attempt still waits."""

    def asks(task: Values) -> bool:
        return task.type == "APPROVAL" and task.state in (TaskState.RUNNING_EXECUTION, TaskState.SUCCESS)

    answer = approvals.give_answer

    def approve(tx: Transaction, id_: TaskInstanceId, by: str, _: object) -> bool:
        return answer(tx, id_, by, {"comment": by})  # from a success to a failure no row can go

    monkeypatch.setattr(approvals, "asks", asks)
    monkeypatch.setattr(approvals, "give_answer", approve)


def lost(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if a master read no results from the event of an answer."""
    consume = task_events.consume

    def without_results(tx: Transaction, *args: Any, **kwargs: Any) -> list[TaskEvent]:
        return [
            each._replace(what=each.what._replace(outputs=None)) if isinstance(each.what, AttemptEnd) else each
            for each in consume(tx, *args, **kwargs)
        ]

    monkeypatch.setitem(models(), "dao.tasks.task_events.consume", without_results)


@pytest.mark.long
@pytest.mark.timeout(300)
@pytest.mark.parametrize("wrong", [answered_twice, lost])
def test_an_answer_that_is_lost_or_applied_twice_is_seen(
    monkeypatch: pytest.MonkeyPatch, wrong: Callable[[pytest.MonkeyPatch], None]
) -> None:
    wrong(monkeypatch)
    found = (run(seed, also=disturbed).violation or "" for seed in range(24))
    assert any(violation.startswith("I38") for violation in found)
