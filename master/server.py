"""A master process: the one place that knows all its parts, starts them in order and stops them in reverse."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress

import structlog

from dao import commands, nodes, reserve, workflow_instances
from dao.database import Database
from dao.errors import BadData
from dao.listen import Listener
from dao.notify import COMMAND, DEPENDENCY, EVENT, NODE, SCHEDULE, concerns
from dao.readiness import wait_until_ready
from master.command_loop import CommandLoop
from master.dependents import Dependents
from master.driver import Driver
from master.lookout import Lookout
from master.membership import Membership
from master.schedules import Schedules
from master.settings import MasterSettings
from master.watcher import Watcher
from model.errors import ShoalError
from model.nodes import NodeKind
from model.timing import Timing
from model.zones import load_zones
from registry.life import Life, boottime_s
from registry.lives import end_all, ending_well, live_again_and_again, new_life
from registry.protocol import Registry
from registry.threads import in_thread

log = structlog.get_logger()

LEAVE_S_MAX = 8.0
"""A stop must not hang because a server does: what is not handed on by then, others take over."""
HAND_OVER_MAX = 20_000
"""So many runs are handed on as their master leaves; what is left, the others hand on within moments."""


class Master:
    """One master. `run` returns after a graceful stop.

    Args:
        database_url: PostgreSQL with the schema of this program's version.
        registry_url: ZooKeeper, or PostgreSQL; None: the cluster's, as it is recorded.
        name: who it is in the cluster; no other master that lives may have it.
        address: `host:port`, for people.
        connect_timeout_s: how long to try for servers that are away at start.
        joined: called once it has its first slot.
    """

    def __init__(
        self,
        database_url: str,
        registry_url: str | None,
        name: str,
        address: str,
        timing: Timing,
        settings: MasterSettings,
        *,
        connect_timeout_s: float,
        joined: Callable[[str], None] = lambda _slot: None,
    ) -> None:
        self._database_url = database_url
        self._registry_url = registry_url
        self._name = name
        self._address = address
        self._timing = timing
        self._settings = settings
        self._connect_timeout_s = connect_timeout_s
        self._joined = joined

    async def run(self, stop: asyncio.Event) -> None:
        """Serve until `stop` is set. A master that was fenced begins a new life under a new epoch.

        Raises `Refused` for a wrong schema or a taken address, `Unavailable` when a server stays away at start,
        `Outdated` when the schema became too new for it; it has left by then.
        """
        reserve.fill()
        await in_thread(load_zones)
        await wait_until_ready(self._database_url, self._connect_timeout_s)
        await live_again_and_again(self._live, stop, self._connect_timeout_s)

    async def _live(self, stop: asyncio.Event) -> None:
        async with (
            new_life(
                NodeKind.MASTER,
                self._name,
                self._address,
                self._database_url,
                self._registry_url,
                timing=self._timing,
                connect_timeout_s=self._connect_timeout_s,
                stop=stop,
            ) as (life, registry),
            ending_well(lambda: self._hand_over(life, broke=True), self._settings.when_fenced),
        ):
            await self._serve(stop, life, registry)

    async def _serve(self, stop: asyncio.Event, life: Life, registry: Registry) -> None:
        look = asyncio.Event()
        driver = Driver(life, self._settings.batch_max, look, longest_run=self._settings.longest_run)
        membership = Membership(life, registry, self._settings, lambda: driver.active, look)
        await membership.join()
        log.info("joined", slot=str(membership.slot), registry=registry.url)
        self._joined(str(membership.slot))
        loop = CommandLoop(life, membership, driver, self._settings)
        dependents = Dependents(life, driver.wake)
        driver.dependents_began = dependents.began
        schedules = Schedules(life, membership, self._settings)
        lookout = Lookout(life, membership, driver, loop, dependents, schedules, self._settings, look)
        watcher = Watcher(life, driver, self._settings)
        await self._work(stop, life, registry, membership, driver, loop, lookout, schedules, dependents, watcher)

    async def _work(
        self,
        stop: asyncio.Event,
        life: Life,
        registry: Registry,
        membership: Membership,
        driver: Driver,
        loop: CommandLoop,
        lookout: Lookout,
        schedules: Schedules,
        dependents: Dependents,
        watcher: Watcher,
    ) -> None:
        ears = Listener(
            self._database_url,
            nodes.application_name(NodeKind.MASTER, life.me.epoch),
            {
                COMMAND: lambda _: loop.wake.set(),
                DEPENDENCY: dependents.told,
                SCHEDULE: lambda _: schedules.changed(),
                NODE: lambda _: membership.left.set(),
                EVENT: lambda payload: driver.wake.set() if concerns(payload, [life.me.epoch]) else None,
            },
        )
        async with asyncio.TaskGroup() as tasks:
            parts = [
                membership.beat(),
                membership.measure(),
                membership.watch(),
                membership.sweep(),
                driver.run(),
                dependents.run(),
                watcher.run(),
                ears.run(),
            ]
            running = [tasks.create_task(part) for part in parts]
            claiming = [tasks.create_task(part) for part in (loop.run(), lookout.run(), schedules.run())]
            await self._check_id_step(life.database)
            await stop.wait()
            log.info("leaving", workflow_instances=driver.running)
            await end_all(claiming)
            with suppress(TimeoutError):
                async with asyncio.timeout(self._settings.drain.total_seconds() + LEAVE_S_MAX):
                    await self._drain(life, driver, registry)
            await end_all(running)
        with suppress(TimeoutError):
            async with asyncio.timeout(LEAVE_S_MAX):
                await self._hand_over(life)

    async def _drain(self, life: Life, driver: Driver, registry: Registry) -> None:
        """Go out of the slots, and finish what ends soon."""
        try:
            life.is_leaving = True
            await registry.unregister()
            async with life.database.writing() as connection:
                await nodes.set_leaving(connection, life.me)
        except ShoalError as error:
            log.warning("leaves_without_a_word", error=str(error))
        deadline_s = boottime_s() + self._settings.drain.total_seconds()
        while driver.active and boottime_s() < deadline_s:  # noqa: ASYNC110 - once in a life
            await asyncio.sleep(0.05)

    async def _hand_over(self, life: Life, *, broke: bool = False) -> None:
        """End this life in the database, and hand on what it still owned: together, since who has left writes no more.

        What fails here, others do in a while.
        """
        handed = 0
        try:
            try:
                async with life.database.writing() as connection:
                    await nodes.set_left(connection, life.me, broke=broke)
                    handed = await workflow_instances.hand_on(connection, HAND_OVER_MAX)
            except BadData:  # of one run, say: who goes must go all the same
                async with life.database.writing() as connection:
                    await nodes.set_left(connection, life.me, broke=broke)
        except ShoalError as error:
            log.warning("left_without_a_word", error=str(error), so="the others take over when they miss its beat")
        log.info("left", handed_on=handed)

    async def _check_id_step(self, database: Database) -> None:
        """Say so when the ids come in strides that leave some slots without commands."""
        try:
            async with database.reading() as connection:
                increment = await commands.id_increment(connection)
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
