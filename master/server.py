"""A master process: the one place that knows all its parts, starts them in order and stops them in reverse order."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

import structlog

from dao.cluster import nodes
from dao.commands import commands
from dao.postgres import reserved_descriptors
from dao.postgres.database import Database
from dao.postgres.errors import BadData
from dao.postgres.listen import Listener
from dao.postgres.notify import COMMAND, DEPENDENCY, DRAIN, EVENT, NODE, SCHEDULE, concerns
from dao.postgres.readiness import wait_until_ready
from dao.runs import failover
from logstore.calls import StoreCalls
from logstore.opening import open_calls
from logstore.settings import LogStoreSettings
from master.claim.command_loop import CommandLoop
from master.drive.dependents import Dependents
from master.drive.driver import Driver
from master.duties.loop import Duties
from master.membership.membership import Membership
from master.poller import Poller
from master.schedule_timer import Schedules
from master.streams import Streams
from master.tracing.otlp import OtlpSender
from master.tracing.traces import Traces
from master.watcher import Watcher
from metrics import master as metrics
from metrics.health import Health
from model.cluster.master_settings import MasterSettings
from model.cluster.nodes import NodeKind
from model.errors import ShoalError
from model.time.zones import load_zones
from node.cluster_gauges import SHOWING_SLOTS, show_figures
from node.joining import Joining
from node.life import Life
from node.lives import end_all, ending_life, live_until_stopped, new_life
from node.store_access import StoreAccess
from node.threads import in_thread
from node.vitals import beats, hears, stays, tries_to_beat
from node.waiting import either_set
from registry.clock import boottime_s
from registry.protocol import Registry

log = structlog.get_logger()

LEAVE_S_MAX = 8.0
"""The limit for a stop, which must not hang with a server: others fail over what is left by then."""
FAILOVER_MAX = 20_000
"""How many runs a leaving master fails over itself; others fail over the rest within moments."""


_Part = Callable[[], Coroutine[Any, Any, None]]


class Master:
    """One master. `run` returns after a graceful stop.

    Draining ends its life as on a stop; the next one idles from its beginning until the drain ends.

    Args:
        name: its name in the cluster; no other living master may have it.
        address: `host:port`, for people.
        spans: sends the spans of runs; None = there are none.
        log_store: has large values.
        health: learns when it has its first slot, and whether it takes work.
    """

    def __init__(
        self,
        joining: Joining,
        name: str,
        address: str,
        settings: MasterSettings,
        *,
        spans: OtlpSender | None = None,
        log_store: LogStoreSettings | None = None,
        health: Health | None = None,
    ) -> None:
        self._joining = joining
        self._name = name
        self._address = address
        self._settings = settings
        self._spans = spans
        self._log_store = log_store or LogStoreSettings()
        self._store: StoreCalls | None = None
        self._health = health or Health()

    async def run(self, stop: asyncio.Event) -> None:
        """Serve until `stop` is set. A master that was fenced begins a new life under a new epoch.

        Raises `Refused` for a wrong schema or a taken address, `Unavailable` when a server is not reachable at start,
        `Outdated` when the schema became too new for it; it has left by then.
        """
        self._store = open_calls(self._log_store)
        reserved_descriptors.fill()
        await in_thread(load_zones)
        within_s = self._joining.connect_timeout_s
        await wait_until_ready(self._joining.database_url, "master", within_s)
        await live_until_stopped(self._live, stop, within_s, self._health)

    async def _live(self, stop: asyncio.Event) -> None:
        async with (
            new_life(NodeKind.MASTER, self._name, self._address, self._joining, stop=stop) as (life, registry),
            ending_life(life, lambda: self._leave(life, broke=True), self._settings.when_fenced),
        ):
            await self._serve(stop, life, registry)

    async def _serve(self, stop: asyncio.Event, life: Life, registry: Registry) -> None:
        poll, events, claim = asyncio.Event(), asyncio.Event(), asyncio.Event()
        dependents = Dependents(life, events)
        driver = Driver(
            life,
            self._settings.batch_max,
            wake=events,
            poll=poll,
            room=claim,
            dependents=dependents,
            longest_run=self._settings.longest_run,
            store=None if self._store is None else StoreAccess(self._store, life),
        )
        membership = Membership(life, registry, self._settings, lambda: driver.runs.active, poll)
        await membership.join()
        life.has_joined = True
        log.info("joined", slot=str(membership.slot), registry=registry.url)
        self._health.begun.set()
        loop = CommandLoop(life, membership, driver, self._settings, claim)
        life.known = loop.known
        schedules = Schedules(life, membership, self._settings)
        streams = Streams(life, membership, self._settings)
        poller = Poller(life, membership, driver, loop, dependents, schedules, streams, self._settings, poll)
        watcher = Watcher(life, driver, self._settings)
        duties = Duties(life, membership, self._settings)
        ears = Listener(
            self._joining.database_url,
            nodes.application_name(NodeKind.MASTER, life.me.epoch),
            {
                COMMAND: lambda _: loop.wake.set(),
                DEPENDENCY: dependents.notified,
                SCHEDULE: lambda _: schedules.changed(),
                NODE: lambda _: membership.left.set(),
                DRAIN: lambda _: life.beat_now.set(),
                EVENT: lambda payload: driver.wake.set() if concerns(payload, [life.me.epoch]) else None,
            },
        )
        registry.use(ears)
        always: list[_Part] = [
            membership.beat,
            membership.measure,
            membership.watch,
            membership.clean_up,
            driver.run,
            dependents.run,
            watcher.run,
            ears.run,
            membership.record,
            partial(show_figures, life.database, lambda: _shows_figures(membership)),
        ]
        if self._spans is not None:
            traces = Traces(life.database, self._spans)
            driver.transactions.on_ended = traces.ended
            always.append(traces.run)
        by_slot = [part.run for part in (loop, poller, schedules, duties, streams)]
        ready = [beats(life), hears(ears), stays(life), membership.why_idle]
        with self._health.judged_by(lives=[tries_to_beat(life)], ready=ready):
            await self._work(stop, life, membership, driver, always, by_slot)

    async def _work(
        self,
        stop: asyncio.Event,
        life: Life,
        membership: Membership,
        driver: Driver,
        always: Sequence[_Part],
        by_slot: Sequence[_Part],
    ) -> None:
        """Run the parts of a life until it must end; those `by_slot` only while it takes part."""
        async with asyncio.TaskGroup() as tasks:
            running = [tasks.create_task(part()) for part in always]
            claiming: list[asyncio.Task[None]] = []
            if membership.is_idle:
                await either_set(stop, life.undrained)
            if not stop.is_set():
                membership.take_part()
                claiming = [tasks.create_task(part()) for part in by_slot]
                await self._check_id_step(life.database)
                await either_set(stop, life.drained)
            log.info("leaving", workflow_instances=driver.runs.running)
            await end_all(claiming)
            with suppress(TimeoutError):
                async with asyncio.timeout(self._settings.drain.total_seconds() + LEAVE_S_MAX):
                    await self._drain(membership, driver)
            await end_all(running)
        with suppress(TimeoutError):
            async with asyncio.timeout(LEAVE_S_MAX):
                await self._leave(life)

    async def _drain(self, membership: Membership, driver: Driver) -> None:
        """Release the slot, and finish runs that end soon."""
        try:
            await membership.leave()
        except ShoalError as error:
            log.warning("leave_not_recorded", error=str(error))
        deadline_s = boottime_s() + self._settings.drain.total_seconds()
        while driver.runs.active and boottime_s() < deadline_s:  # noqa: ASYNC110 - once in a life
            await asyncio.sleep(0.05)

    async def _leave(self, life: Life, *, broke: bool = False) -> None:
        """End this life in the database, and fail over the runs that it still owns: in one transaction, since a node
        that has left can no longer write.

        If this fails, other masters do it a little later.
        """
        handed = 0
        try:
            try:
                async with life.database.writing() as connection:
                    if await nodes.set_left(connection, life.me, broke=broke):
                        handed = await failover.fail_over(connection, FAILOVER_MAX)
            except BadData:  # for example about one run: the master still leaves
                await life.database.write(nodes.set_left, life.me, broke=broke)
        except ShoalError as error:
            log.warning("end_not_recorded", error=str(error), so="the others fail over when they miss its beat")
        metrics.runs_failed_over.inc(handed)
        log.info("left", failed_over=handed)

    async def _check_id_step(self, database: Database) -> None:
        """Log a warning when the id sequence has a step that leaves some slots without commands."""
        try:
            increment = await database.read(commands.id_increment)
        except ShoalError as error:
            log.warning("id_step_unchecked", error=str(error))
            return
        if increment != self._settings.id_step:
            log.warning(
                "id_step_does_not_fit",
                increment=increment,
                id_step=self._settings.id_step,
                so=f"some slots get more commands than others; set master.id_step to {increment}",
            )


def _shows_figures(membership: Membership) -> bool:
    """Whether this master is one of the few that show the figures of the whole cluster."""
    return membership.slot is not None and membership.slot.current < SHOWING_SLOTS
