"""Many seeds, shared out over the processors. Not in `__main__`: what is there cannot be sent to other processes."""

from __future__ import annotations

import gc
import multiprocessing
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tests.simulation.protections import Protections
from tests.simulation.run import run

_CHUNK = 10
_NEW_OBJECTS = 20_000
"""Looking for garbage after each 700, Python's own choice, takes a sixth of the time."""


@dataclass(frozen=True, slots=True)
class Told:
    """A verdict without its trace, which is long."""

    seed: int
    violation: str | None
    steps: int
    virtual_s: float
    commands: int
    instances: int
    attempts: int


def told(seed: int, without: str | None = None) -> Told:
    """Run one seed."""
    verdict = run(seed, Protections().without(without) if without else None)
    counts = (verdict.commands, verdict.instances, verdict.attempts)
    return Told(seed, verdict.violation, verdict.steps, verdict.virtual_s, *counts)


def _told(task: tuple[int, str | None]) -> Told:
    return told(*task)


def many(seeds: Sequence[int], without: str | None = None, jobs: int | None = None) -> Iterator[Told]:
    """Run the seeds in `jobs` processes (None = one a processor), in order."""
    tasks = [(seed, without) for seed in seeds]
    if (jobs or os.cpu_count() or 1) == 1:
        yield from map(_told, tasks)
        return
    with multiprocessing.get_context("spawn").Pool(jobs, gc.set_threshold, (_NEW_OBJECTS, 20, 100)) as pool:
        yield from pool.imap(_told, tasks, _CHUNK)
