"""Tasks with elements, under all faults; and proof that the simulation would see one that is run twice or left out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest

from logstore import value_files
from master.claim import revival
from master.drive import element_results
from master.drive.elements import Elements
from model.parameters.large_values import LargeValue
from model.runs.command_moves import CommandType
from model.runs.states import WorkflowState
from tests.simulation.definitions import MAPPED
from tests.simulation.run import run
from tests.simulation.value_store import ValueStore
from tests.simulation.workload import ask, run_elements
from tests.simulation.world import FAULTS_S, World

SEEDS = 8


def disturbed(world: World) -> None:
    """Runs of tasks with elements, while all the faults happen."""
    run_elements(world)


@pytest.mark.timeout(300)
def test_every_element_ends_once_and_its_task_as_they_do() -> None:
    verdicts = [run(seed, also=disturbed) for seed in range(SEEDS)]
    assert [(each.seed, each.violation) for each in verdicts if each.violation] == []


def forgotten(_self: Elements, _index: int, _text: str | None) -> bool:
    """As if no row belonged to an element."""
    return False


def too_early(self: Elements) -> bool:
    """As if a task were over when none of its elements is in progress."""
    return not self._under_way


@pytest.mark.long
@pytest.mark.timeout(300)
@pytest.mark.parametrize(("name", "wrong"), [("counts", forgotten), ("is_over", property(too_early))])
def test_elements_that_run_again_or_never_are_seen(
    monkeypatch: pytest.MonkeyPatch, name: str, wrong: Callable[..., Any] | property
) -> None:
    monkeypatch.setattr(Elements, name, wrong)
    found = (run(seed, also=disturbed).violation or "" for seed in range(48))
    assert any(violation.startswith("I36") for violation in found)


@dataclass
class Kept:
    """What was given and kept in some seeds, whose lists are all too large for rows."""

    away: float
    seeds: int = SEEDS
    wrong: list[str] = field(default_factory=list)
    count: int = 0

    def run(self) -> list[str | None]:
        """All that is wrong."""
        said: list[str | None] = []
        for seed in range(self.seeds):
            worlds: list[World] = []
            said.append(run(seed, also=partial(self._arrange, worlds)).violation)
            (world,) = worlds
            assert world.store is not None
            self.count += world.store.count(world.server)
            self.wrong += world.store.wrong(world.server)
        return [each for each in (*said, *self.wrong) if each is not None]

    def _arrange(self, worlds: list[World], world: World) -> None:
        worlds.append(world)
        world.store = ValueStore(world.draw("value store"), self.away)
        rerun(world)


@pytest.mark.timeout(300)
@pytest.mark.parametrize("away", [0.0, 0.3])
def test_a_list_that_is_kept_is_there_before_a_row_tells_of_it(monkeypatch: pytest.MonkeyPatch, away: float) -> None:
    monkeypatch.setattr(element_results, "ROOM", 2)
    kept = Kept(away)
    assert kept.run() == []
    assert kept.count, "else this shows nothing"


@pytest.mark.timeout(300)
def test_a_row_that_tells_of_what_is_not_kept_yet_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    def early(store: Any, _advanced: Any, key: str, task: str, name: str, text: str, *, is_text: bool) -> LargeValue:
        return put(SimpleNamespace(put=lambda *_: None), lambda: None, key, task, name, text, is_text=is_text)

    put = value_files.put
    monkeypatch.setattr(element_results, "ROOM", 2)
    monkeypatch.setattr(value_files, "put", early)
    assert Kept(0.0, 2).run()


def rerun(world: World) -> None:
    """Rerun the failed ones, every second."""
    run_elements(world)
    world.failing = 0.4
    for at_s in range(2, int(FAULTS_S)):
        world.loop.in_world(at_s, _rerun_failed, world)


def _rerun_failed(world: World) -> None:
    for row in world.server.instances.rows.values():
        if row.values is not None and row.values.workflow_code in MAPPED and row.values.state is WorkflowState.FAILURE:
            ask(world, CommandType.START_FAILURE_TASK_PROCESS, workflow_instance_id=str(row.id))


@pytest.mark.timeout(300)
def test_a_rerun_begins_no_element_again_that_has_succeeded() -> None:
    assert [run(seed, also=rerun).violation for seed in range(SEEDS)] == [None] * SEEDS


@pytest.mark.long
@pytest.mark.timeout(300)
def test_a_rerun_that_begins_every_element_again_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(revival, "KEPT", frozenset())
    found = (run(seed, also=rerun).violation or "" for seed in range(96))
    assert any(violation.startswith("I36") for violation in found)
