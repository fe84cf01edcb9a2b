"""Proof that the simulation would see what goes wrong: without any one protection some seed fails."""

from __future__ import annotations

import warnings
from itertools import chain, count, islice

import pytest

from model.runs.command_moves import CommandType
from tests.simulation.loop import Process
from tests.simulation.protections import NAMES, Protections
from tests.simulation.provoked import OF_STREAMS, PROVOKED, nothing_more
from tests.simulation.run import run
from tests.simulation.statements.retention.old_runs import KEPT_S
from tests.simulation.tables import Values
from tests.simulation.workload import ask
from tests.simulation.world import INNOCENT_AFTER_S, World

FOUND: dict[str, tuple[int, str]] = {
    "licence": (10, "I4"),
    "share": (12, "I4"),
    "fencing": (10, "I4"),
    "claim": (0, "I1"),
    "attempt": (26, "I5"),
    "fire_compare": (29, "I8: command"),
    "fire_once": (29, "I8: schedule"),
    "recover": (7, "I3: two open RECOVER"),
    "failover": (2, "I3"),
    "takeovers": (39, "I16"),
    "deaths": (25, "I10"),
    "barrier": (1, "I3"),
    "horizon": (18, "I5"),
    "deadline": (25, "I5"),
    "terminate": (5, "I10"),
    "observed": (10, "I5"),
    "stated": (35, "I5"),
    "swept": (1, "I5"),
    "searched": (17, "I5"),
    "unbroken": (34, "I5"),
    "room": (7, "I10"),
    "steal": (82, "I2: command"),
    "answer_deadline": (10, "I10"),
    "periodic": (33, "I2: the masters"),
    "obeyed": (35, "I17"),
    "line": (57, "I18"),
    "older": (1, "I21"),
    "shares": (172, "I25"),
    "dealt": (172, "I25"),
    "troubled": (18, "I29"),
    "rebalance": (24, "I26: streams are spread unevenly"),
    "handover": (18, "I26: worker"),
    "duty": (6, "I27"),
    "family": (28, "I28"),
    "superseded": (1, "I19"),
    "pools_held": (2, "I22"),
    "lease": (3, "I22"),
    "timed_again": (50, "I10"),
    "reserved": (22, "I24"),
}
"""Of each protection: a seed that fails without it, and how the violation begins. Whoever changes what a seed draws
or what Shoal does changes which seeds fail: the test then looks for another, and says which to write here."""
LOOKED_AT = 300
ARRANGED = ("judged", "continued")
"""Too rare moments for the seeds: tests of their own arrange them."""


@pytest.mark.timeout(300)
@pytest.mark.parametrize("protection", [name for name in NAMES if name not in ARRANGED])
def test_without_any_one_protection_some_seed_fails(protection: str) -> None:
    off = Protections().without(protection)
    known, invariant = FOUND[protection]
    provoke = PROVOKED.get(protection, nothing_more)
    seeds = (seed for seed in count() if protection not in OF_STREAMS or World(seed, off).has_streams)
    for seed in chain([known], islice(seeds, LOOKED_AT)):
        if not (run(seed, off, also=provoke).violation or "").startswith(invariant):
            continue
        if seed != known:
            warnings.warn(f'"{protection}": ({seed}, "{invariant}") is the seed to write into FOUND', stacklevel=1)
        return
    pytest.fail(f"without {protection} none of {LOOKED_AT} seeds fails {invariant}: is it needed, or not simulated?")


@pytest.mark.parametrize("protection", [name for name in NAMES if name not in ARRANGED])
def test_with_all_protections_the_same_seed_is_clean(protection: str) -> None:
    known, _ = FOUND[protection]
    assert run(known, also=PROVOKED.get(protection, nothing_more)).violation is None


def late_fences(world: World) -> None:
    """No worker reaches anybody for as long as they are waited for; who would fence one sleeps until it beats again."""
    begins_s, for_s = 2.0, 6.0
    wakes_s = begins_s + for_s + INNOCENT_AFTER_S + 0.5

    def cut() -> None:
        for name in world.names:
            if name.startswith("worker"):
                world.cut(name, world.server, world.ensemble, seconds=for_s)

    world.loop.in_world(begins_s, cut)
    world.at_each("terminate", lambda process: world.pause(process, max(0.1, wakes_s - world.loop.now)))


def test_a_judge_that_slept_before_its_fence_would_fence_the_living() -> None:
    """The protection `judged`. Too rare a moment for the seeds, so here it is arranged in each of them."""
    off = Protections().without("judged")
    found = [verdict for seed in range(30) if (verdict := run(seed, off, also=late_fences)).violation]
    assert any((verdict.violation or "").startswith("I14") for verdict in found)
    assert [run(verdict.seed, also=late_fences).violation for verdict in found] == [None] * len(found)


def continued_meanwhile(world: World) -> None:
    """Between the statement that finds old runs and the one that deletes them their master sleeps, and somebody repeats
    all of them."""
    counted, left = world.server.on_statement, [3]

    def repeat_all() -> None:
        for each in _ended(world):
            ask(world, CommandType.REPEAT_RUNNING, workflow_instance_id=str(each.id))

    def count(process: Process, statement: str) -> None:
        counted(process, statement)
        if statement == "find" and left[0] and any(_is_old(world, each) for each in _ended(world)):
            left[0] -= 1
            world.pause(process, 1.5)
            world.loop.in_world(0.1, repeat_all)  # once it has found them

    world.server.on_statement = count


def _ended(world: World) -> list[Values]:
    runs = (row.values for row in world.server.instances.rows.values())
    return [run for run in runs if run is not None and run.parent is None and run.state.is_final]


def _is_old(world: World, run: Values) -> bool:
    return bool(run.ended_s < world.server.now_s - KEPT_S)


def test_retention_that_deletes_what_it_found_though_it_goes_on_would_delete_a_live_run() -> None:
    """The protection `continued`."""
    off = Protections().without("continued")
    seeds = [seed for seed in range(400) if World(seed, off).does_duties]
    found = [seed for seed in seeds if (run(seed, off, also=continued_meanwhile).violation or "").startswith("I28")]
    assert found
    assert [run(seed, also=continued_meanwhile).violation for seed in found] == [None] * len(found)
