"""A worker on which every stream fails at once, as where a program is missing that others have."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.simulation.task_runs import TaskRun
    from tests.simulation.world import World

FAILS_AFTER_S = 0.05
FAILS_MAX = 5
"""How often in a row a stream may fail there: when it breaks, after a long run; three times soon after its start; and
once more by a claim that could not see the last failure."""


class BrokenWorker:
    """The worker of this name, for as long as it is broken."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._failed: Counter[tuple[int, int]] = Counter()

    def fails(self, world: World, run: TaskRun) -> bool:
        """Whether a stream that begins fails at once. I29: none does so again and again, while others could run it."""
        if run.process.name != self.name:
            del self._failed[run.key]
            return False
        self._failed[run.key] += 1
        if self._failed[run.key] > FAILS_MAX:
            fails = f"stream {run.key} fails on {self.name}, on which streams fail"
            world.trace.violation(f"I29: {fails}, for the {self._failed[run.key]}th time in a row")
        return True
