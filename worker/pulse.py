"""The beats of a worker, and the horizon until which it may believe in itself."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable

import structlog

from model.errors import Fenced, ShoalError
from model.nodes import Heartbeat, NodeKind
from model.timing import Timing
from registry.life import Life, boottime_s
from registry.protocol import Registry
from worker.launcher.client import Launcher
from worker.settings import WorkerSettings

log = structlog.get_logger()

ANNOUNCE_EVERY_S = 10.0


class Pulse:
    """Beats, and moves the horizon forward; `running` tells how many tasks there are.

    The horizon is reckoned from the *send* times of the last beat and the last registry round trip that were
    answered. The launcher kills whatever runs when it has passed, even if this process sleeps: before any judge may
    take this worker for dead (`master/judge.py`), nothing of it runs any more.
    """

    def __init__(
        self,
        life: Life,
        registry: Registry,
        launcher: Launcher,
        timing: Timing,
        settings: WorkerSettings,
        running: Callable[[], int],
    ) -> None:
        self._life = life
        self._registry = registry
        self._launcher = launcher
        self._timing = timing
        self._settings = settings
        self._running = running
        self._announced_s = 0.0

    async def join(self) -> None:
        """The first beat, and the entry in the registry."""
        heartbeat = self._heartbeat()
        await self._life.beat(heartbeat)
        await self._registry.register(heartbeat)
        self._move_horizon()

    async def beat(self) -> None:
        """Beat for ever. Raises `Fenced`."""
        every_s = self._timing.heartbeat_every.total_seconds()
        while True:
            now_s = boottime_s()
            heartbeat = self._heartbeat()
            try:
                await self._life.beat(heartbeat)
            except Fenced:
                raise
            except ShoalError as error:
                log.warning("beat_failed", error=str(error))
            if now_s - self._announced_s >= ANNOUNCE_EVERY_S:
                self._announced_s = now_s
                await self._registry.update(heartbeat)
            self._move_horizon()
            await asyncio.sleep(max(0.05, every_s - (boottime_s() - now_s)))

    def _heartbeat(self) -> Heartbeat:
        return Heartbeat(
            epoch=self._life.me.epoch,
            kind=NodeKind.WORKER,
            address=self._life.me.address,
            running=self._running(),
            capacity=self._settings.capacity,
            load=round(os.getloadavg()[0] / (os.cpu_count() or 1), 2),
            groups=self._settings.groups,
        )

    def _move_horizon(self) -> None:
        beat_s = self._life.last_beat_s
        alone_s = min(
            self._registry.last_contact + self._timing.session_timeout.total_seconds(),
            beat_s + self._timing.worker_cut_limit.total_seconds(),
        )
        self._launcher.set_deadline(max(beat_s + self._timing.worker_fence_after.total_seconds(), alone_s))
