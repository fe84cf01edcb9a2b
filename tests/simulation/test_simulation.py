"""The value of a simulation: the same seed is the same run, much happens in it, and a failing one can be shrunk."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.simulation.portion import SEEDS
from tests.simulation.protections import Protections
from tests.simulation.provoked import held_rows
from tests.simulation.run import run
from tests.simulation.shrinking import shrunk

ROOT = Path(__file__).parents[2]
_REGRESSIONS = (Path(__file__).parent / "regressions.txt").read_text("utf-8").splitlines()
REGRESSIONS = [int(line.split()[0]) for line in _REGRESSIONS if line and not line.startswith("#")]


@pytest.mark.parametrize("seed", REGRESSIONS)
def test_a_seed_that_once_failed_fails_no_more(seed: int) -> None:
    verdict = run(seed)
    assert verdict.violation is None, verdict.trace.text()


def test_the_same_seed_gives_the_same_run_in_any_process() -> None:
    here = [run(seed).trace.digest() for seed in range(4)]
    program = "from tests.simulation.run import run; print(*(run(seed).trace.digest() for seed in range(4)))"
    for hash_seed in ("1", "2"):
        environment = {**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": str(ROOT)}
        there = subprocess.run(
            [sys.executable, "-c", program], env=environment, cwd=ROOT, capture_output=True, text=True, check=True
        )
        assert there.stdout.split() == here


def test_what_is_left_out_of_a_failing_seed_leaves_the_same_failure() -> None:
    off = Protections().without("licence")
    failing = (verdict for seed in range(100) if (verdict := run(seed, off)).violation)
    found = ((whole, *shrunk(whole, off)) for whole in failing)
    # Some fail by a coincidence of all that they have.
    whole, small, left_out = next(each for each in found if len(each[2]) > len(each[0].arranged) / 3)
    assert small.invariant == whole.invariant
    assert len(small.trace.lines) < len(whole.trace.lines)
    again = run(whole.seed, off, left_out)
    assert again.trace.digest() == small.trace.digest()


def test_a_trace_has_one_line_a_step_and_ends_with_what_must_not_be() -> None:
    off = Protections().without("claim")
    failing = next(verdict for seed in range(100) if (verdict := run(seed, off)).violation)
    lines = failing.trace.text().splitlines()
    assert len(lines) == len(failing.trace.lines)
    assert lines[-1].split()[1] == "VIOLATION"


def test_seeds_are_busy_enough_to_mean_something_and_violate_nothing() -> None:
    verdicts = [run(seed) for seed in range(SEEDS, 160)] + [run(seed, also=held_rows) for seed in range(30)]
    assert [verdict.violation for verdict in verdicts if verdict.violation] == []
    assert sum(verdict.commands for verdict in verdicts) > 600
    assert sum(verdict.attempts for verdict in verdicts) > 600
    told = "\n".join(verdict.trace.text() for verdict in verdicts)
    of_servers = [
        "COMMIT: happens late",
        "restarts, away",
        "freezes",
        "is wiped",
        "stays as a phantom",
        "is cut from",
        "holds the rows",
    ]
    of_masters = [
        "is dead",
        "is stopped for",
        "node_fenced",
        "failover_claimed",
        "FAILOVER",
        "READY_STOP",
        "SCHEDULER made",
    ]
    of_masters += ["command_waits", "workflow_waits"]
    of_workers = ["NEED_FAULT_TOLERANCE", "DISPATCH -> QUEUED", "horizon_passed"]
    for what in [*of_servers, *of_masters, *of_workers, "commands_taken_by_age", "its masters died"]:
        assert what in told, f"nothing of the kind in all these seeds: {what}"
