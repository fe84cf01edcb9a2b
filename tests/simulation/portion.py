"""The seeds that run with each push; `make simulate SEEDS=20000` runs more."""

from __future__ import annotations

from collections.abc import Iterable

from tests.simulation.run import run

SEEDS = 110


def guilty(seeds: Iterable[int]) -> list[str]:
    """The violations of each failing seed, and how to see its trace, shrunk."""
    return [
        f"{verdict.violation}: python -m tests.simulation --seeds 1 --first {seed}"
        for seed in seeds
        if (verdict := run(seed)).violation is not None
    ]
