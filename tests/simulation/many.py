"""Many seeds, shared out over the processors. Not in `__main__`: what is there cannot be sent to other processes."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Iterator, Sequence

from tests.simulation.protections import Protections
from tests.simulation.run import Verdict, run

_CHUNK = 10
Told = tuple[int, str | None, int, float, int, int, int]


def _tell(verdict: Verdict) -> Told:
    """Without its trace, which is long."""
    counts = (verdict.commands, verdict.instances, verdict.attempts)
    return (verdict.seed, verdict.violation, verdict.steps, verdict.virtual_s, *counts)


def _run_one(task: tuple[int, str | None]) -> Told:
    seed, without = task
    return _tell(run(seed, Protections().without(without) if without else None))


def many(seeds: Sequence[int], without: str | None = None, jobs: int | None = None) -> Iterator[Told]:
    """Run them in so many processes (None = one a processor), in their order."""
    tasks = [(seed, without) for seed in seeds]
    if (jobs or os.cpu_count() or 1) == 1:
        yield from map(_run_one, tasks)
        return
    with multiprocessing.get_context("spawn").Pool(jobs) as pool:
        yield from pool.imap(_run_one, tasks, _CHUNK)
