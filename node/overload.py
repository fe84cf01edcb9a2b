"""Detects overload of this node: measures periodically, outside the loop, and evaluates at each beat."""

from __future__ import annotations

import asyncio
import errno
from collections.abc import Iterable, Mapping
from pathlib import Path

import structlog

from dao.postgres import reserved_descriptors
from model.cluster.load import Hysteresis, Limit, LoadSettings, Measure
from model.cluster.means import is_passing
from model.cluster.nodes import NodeStatus
from node.meter import Meter

log = structlog.get_logger()

OWN = frozenset({Measure.RUNS})
"""Measures that a node counts itself; all others concern its machine."""


class Overload:
    """BUSY or NORMAL, and why.

    Args:
        settings: the limits, and how long a status is held.
        so: what the node does while it is BUSY, for its log.
        own: limits of what the node counts itself.
        folder: the folder whose disk is checked, if any.
    """

    def __init__(
        self, settings: LoadSettings, *, so: str, own: Iterable[Limit] = (), folder: Path | None = None
    ) -> None:
        limits = settings.limits()
        self._hysteresis = Hysteresis((*own, *limits), settings.hold.total_seconds())
        self._meter = Meter([limit.measure for limit in limits], folder)
        self._values: Mapping[Measure, float] = {}
        self._is_doubted = False
        self._so = so
        self.takes_nothing = False
        """Whether to take nothing new: it is BUSY, or the last measurement is in doubt, until the next `evaluate`."""

    @property
    def status(self) -> NodeStatus:
        return self._hysteresis.status

    @property
    def because(self) -> str:
        """The reason while BUSY, such as `memory 93 % > 90 %`."""
        return self._hysteresis.because

    @property
    def of_machine(self) -> bool:
        """Whether it is BUSY because of its machine, not only its own counts."""
        return self.status is NodeStatus.BUSY and bool(self._hysteresis.passed - OWN)

    async def measure(self) -> None:
        """Measure once, in a thread: a disk may hang, and the kernel may be slow to sum up a group's memory."""
        try:
            self._values = await asyncio.to_thread(self._meter.measure)
        except (OSError, RuntimeError, MemoryError) as error:
            if not is_passing(error):
                raise
            if isinstance(error, OSError) and error.errno in (errno.EMFILE, errno.ENFILE):
                self._values = {**self._values, Measure.FREE_DESCRIPTORS: 0.0}
            log.warning("cannot_measure", error=str(error), so="takes nothing new until the load can be measured")
            self.doubt()
        else:
            self._is_doubted = False
            reserved_descriptors.fill()

    def doubt(self) -> None:
        """An error looked like overload: take nothing until the next measurement has been evaluated."""
        self._is_doubted = self.takes_nothing = True

    async def run(self, every_s: float) -> None:
        """Measure until cancelled."""
        while True:
            await asyncio.sleep(every_s)
            await self.measure()

    def evaluate(self, now_s: float, own: Mapping[Measure, float] | None = None) -> bool:
        """Evaluate the last measurement and `own`, at `now_s` of a steady clock. Returns whether the status changed."""
        before = self.status
        status = self._hysteresis.update({**self._values, **(own or {})}, now_s)
        self.takes_nothing = status is NodeStatus.BUSY or self._is_doubted
        if status is before:
            return False
        if status is NodeStatus.BUSY:
            log.warning("busy", because=self.because, so=self._so)
        else:
            log.info("no_longer_busy")
        return True
