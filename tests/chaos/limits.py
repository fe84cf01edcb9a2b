"""The capacity of masters and workers: large, or with each third seed very small."""

from __future__ import annotations

import random
from dataclasses import dataclass

FEW_MAX = 4
EACH = 3
RUN_S = 3.0
"""About how long a run holds its room, faults included; a task less."""


@dataclass(frozen=True)
class Limits:
    """The limits of each master and of each worker."""

    runs: int = 20_000
    tasks: int = 32

    def rate(self, wanted: float, masters: int, workers: int) -> float:
        """The commands a second that these can handle."""
        return min(wanted, masters * self.runs / RUN_S, workers * self.tasks / RUN_S)


def limits_of(seed: int) -> Limits:
    """The limits of a seed: 1 to 4 of both with each third."""
    if seed % EACH:
        return Limits()
    chance = random.Random(f"limits {seed}")
    return Limits(chance.randint(1, FEW_MAX), chance.randint(1, FEW_MAX))
