"""The beats of a worker, and the horizon until which it may assume that it has not been fenced."""

from __future__ import annotations

import asyncio

import structlog

from metrics import worker as metrics
from metrics.tally import Tally
from model.cluster.nodes import Heartbeat, NodeKind, NodeStatus
from model.errors import Fenced, ShoalError
from model.runs.states import TaskState
from node.life import Life
from node.meter import load_a_core
from node.overload import Overload
from node.waiting import set_within
from registry.clock import boottime_s
from registry.protocol import Registry
from worker.attempts.tenants import runs_as_root
from worker.claims.writer import Writer
from worker.launcher.client import Launcher
from worker.settings import WorkerSettings

log = structlog.get_logger()

ANNOUNCE_EVERY_S = 10.0
CONFIRM_EVERY_S = 0.1
"""The pause between beats during a drain while a claimed attempt has not begun."""


GUARD_EVERY_S = 0.25
MARGIN_S = 1.0
"""Two ticks of the launcher's keepers: tasks end this long before the horizon, so that none reaches it."""


class Beats:
    """Beats, and enforces the horizon.

    The horizon is computed from the *send* times of the last beat and the last registry round trip that were answered.
    Shortly before it, everything that runs is ended: by the launcher, even if this process is frozen, and by `guard`
    for tasks without a process. So nothing of this worker still runs when a master may consider it dead
    (`master/membership/failure_detector.py`). A passed horizon stays passed until everything that ran has ended and is
    reported: if it moved in between, it could spare tasks that others have already started again.
    """

    def __init__(
        self,
        life: Life,
        registry: Registry,
        launcher: Launcher,
        settings: WorkerSettings,
        overload: Overload,
        writer: Writer,
    ) -> None:
        self._life = life
        self._registry = registry
        self._launcher = launcher
        self._settings = settings
        self._writer = writer
        self._overload = overload
        self._announced_s = 0.0
        self._deadline_s = 0.0
        self._announced_drained = 0
        self._took_nothing = False
        self._tally = Tally()

    async def join(self) -> None:
        """Send the first beat, and enter the registry."""
        await self._overload.measure()
        self._evaluate_load()
        await self._life.beat(self._heartbeat())
        await self._registry.register(self._heartbeat())
        self._set_deadline(self._horizon_s() - MARGIN_S)

    def why_idle(self) -> str | None:
        """Why the worker claims nothing now despite free places; None if it claims."""
        if self._writer.takes_new:
            return None
        busy = self._overload.because
        return f"it claims nothing, since it is BUSY: {busy}" if busy else "it claims nothing for a moment"

    async def beat(self) -> None:
        """Beat forever. Raises `Fenced`."""
        every_s = self._life.silence.beat_s
        while True:
            now_s = boottime_s()
            is_news, beaten = self._evaluate_load(), False
            heartbeat = self._heartbeat()
            metrics.running.set(heartbeat.running)
            metrics.capacity.set(heartbeat.capacity)
            try:
                await self._life.beat(heartbeat)
                beaten = True
            except Fenced:
                raise
            except ShoalError as error:
                log.warning("beat_failed", error=str(error))
            is_news |= heartbeat.drained != self._announced_drained
            if is_news or now_s - self._announced_s >= ANNOUNCE_EVERY_S:
                self._announced_s, self._announced_drained = now_s, heartbeat.drained or 0
                await self._registry.update(heartbeat)
            is_confirmed = not beaten or heartbeat.drained == self._life.drain_id
            pause_s = every_s - (boottime_s() - now_s) if is_confirmed else CONFIRM_EVERY_S
            await set_within(self._life.beat_now, max(0.05, pause_s))

    async def measure(self) -> None:
        await self._overload.run(self._life.silence.beat_s)

    def _evaluate_load(self) -> bool:
        """Update the load; return whether it changed between BUSY and NORMAL. Wakes the writer on NORMAL."""
        took_nothing = self._took_nothing or self._overload.takes_nothing
        is_news = self._overload.evaluate(boottime_s())
        self._took_nothing = self._life.takes_nothing or self._overload.takes_nothing
        if took_nothing and not self._took_nothing:
            self._writer.search_queue()
            self._writer.pools.notice()
        if self._life.takes_nothing:
            self._writer.wake.set()  # to hand over its streams
        return is_news

    def _heartbeat(self) -> Heartbeat:
        return Heartbeat(
            epoch=self._life.me.epoch,
            kind=NodeKind.WORKER,
            address=self._life.me.address,
            name=self._life.me.name,
            status=NodeStatus.BUSY if self._life.drained.is_set() else self._overload.status,
            because=self._overload.because,
            running=self._writer.running,
            capacity=self._settings.capacity,
            load=round(load_a_core(), 2),
            groups=self._settings.groups,
            silence=self._life.silence,
            drained=self._life.drain_id if self._writer.begins_nothing else 0,
            counted=self._tally.counted(),
            runs_as_root=runs_as_root(self._settings),
        )

    async def guard(self) -> None:
        """Move the deadline forward forever, independent of the database: a beat may hang as long as the server."""
        while True:
            now_s, deadline_s = boottime_s(), self._horizon_s() - MARGIN_S
            if now_s < self._deadline_s:
                self._set_deadline(deadline_s)
            elif self._writer.trusted:
                log.error(
                    "horizon_passed", tasks=self._writer.running, so="ends its tasks, since others may run them again"
                )
                self._writer.trusted = False
                metrics.horizons_passed.inc()
                self._writer.cancel_all(TaskState.NEED_FAULT_TOLERANCE, "its worker was cut off for too long")
            elif not self._writer.running and now_s < deadline_s:
                log.info("horizon_restored")
                self._set_deadline(deadline_s)
                self._writer.trusted = True
            await asyncio.sleep(GUARD_EVERY_S)

    def _set_deadline(self, deadline_s: float) -> None:
        self._deadline_s = deadline_s
        self._launcher.set_deadline(deadline_s)

    def _horizon_s(self) -> float:
        beat_s, silence = self._life.last_beat_s, self._life.silence
        alone_s = min(self._registry.last_contact + silence.session_s, beat_s + silence.cut_s)
        return max(beat_s + silence.fence_s, alone_s)
