"""Whole clusters under all faults at once, seed by seed; and proof that the simulation would see what goes wrong."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.simulation.many import many
from tests.simulation.protections import NAMES, Protections
from tests.simulation.run import run

SEEDS = 2_000
"""Run with each push; `make simulate SEEDS=20000` runs more."""
SEEDS_UNTIL_FOUND = 1_000
ROOT = Path(__file__).parents[2]
_REGRESSIONS = (Path(__file__).parent / "regressions.txt").read_text("utf-8").splitlines()
REGRESSIONS = [int(line.split()[0]) for line in _REGRESSIONS if line and not line.startswith("#")]


@pytest.mark.timeout(900)
def test_thousands_of_seeds_violate_nothing() -> None:
    """Goal: no command lost or handled twice, no owner, attempt or fire doubled, and everything ends."""
    guilty = {seed: violation for seed, violation, *_ in many(range(SEEDS)) if violation is not None}
    told = "\n".join(f"python -m tests.simulation --seeds 1 --first {seed}: {what}" for seed, what in guilty.items())
    assert not guilty, f"the trace is printed by\n{told}"


@pytest.mark.timeout(300)
@pytest.mark.parametrize("protection", NAMES)
def test_without_any_one_protection_some_seed_fails(protection: str) -> None:
    off = Protections().without(protection)
    for seed in range(SEEDS_UNTIL_FOUND):
        if run(seed, off).violation is not None:
            return
    pytest.fail(f"{SEEDS_UNTIL_FOUND} seeds without {protection} violated nothing: is it needed, or not simulated?")


@pytest.mark.parametrize("seed", REGRESSIONS)
def test_a_seed_that_once_failed_fails_no_more(seed: int) -> None:
    verdict = run(seed)
    assert verdict.violation is None, verdict.trace.text()


def test_the_same_seed_gives_the_same_run_in_any_process() -> None:
    seeds = range(4)
    here = [run(seed).trace.digest() for seed in seeds]
    program = "from tests.simulation.run import run; print(*(run(seed).trace.digest() for seed in range(4)))"
    for hash_seed in ("1", "2"):
        environment = {**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": str(ROOT)}
        there = subprocess.run(
            [sys.executable, "-c", program], env=environment, cwd=ROOT, capture_output=True, text=True, check=True
        )
        assert there.stdout.split() == here


def test_a_run_leaves_the_modules_as_they_were() -> None:
    from dao import commands, nodes
    from master import server

    before = (commands.claim, nodes.fence, server.Listener)
    run(0)
    assert (commands.claim, nodes.fence, server.Listener) == before


def test_a_seed_is_busy_enough_to_mean_something() -> None:
    verdicts = [run(seed) for seed in range(40)]
    assert sum(verdict.commands for verdict in verdicts) > 400
    assert sum(verdict.attempts for verdict in verdicts) > 400
    told = "\n".join(verdict.trace.text() for verdict in verdicts)
    masters = [
        "is dead",
        "is stopped for",
        "COMMIT: happens late",
        "node_fenced",
        "took_over",
        "FAILOVER",
        "READY_STOP",
    ]
    workers = ["NEED_FAULT_TOLERANCE", "DISPATCH -> QUEUED", "horizon_passed"]
    for what in [*masters, *workers, "SCHEDULER made"]:
        assert what in told, f"nothing of the kind in 40 seeds: {what}"
