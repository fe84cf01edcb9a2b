"""Looks for work that nobody told of: on a timer, when the slot changed, and when an attempt's wait is over.

One statement a look, so that an idle master costs next to nothing; whoever is woken by it reads the tables again.
"""

from __future__ import annotations

import asyncio

import structlog

from dao import commands, nodes, task_instances
from dao.notify import TASK, notify
from master.command_loop import CommandLoop
from master.dependents import Dependents
from master.driver import Driver
from master.membership import Membership
from master.schedules import Schedules
from master.settings import MasterSettings
from model.errors import Fenced, ShoalError
from registry.life import Life
from registry.waiting import set_within

log = structlog.get_logger()

DUE_BATCH = 1_000
DUE_PAUSE_S = 0.02
"""Slightly more than a due time, so that the look finds it over."""


class Lookout:
    """Wakes the command loop and the driver, and queues attempts whose time has come."""

    def __init__(
        self,
        life: Life,
        membership: Membership,
        driver: Driver,
        loop: CommandLoop,
        dependents: Dependents,
        schedules: Schedules,
        settings: MasterSettings,
        look: asyncio.Event,
    ) -> None:
        self._life = life
        self._membership = membership
        self._driver = driver
        self._loop = loop
        self._dependents = dependents
        self._schedules = schedules
        self._settings = settings
        self._look = look

    async def run(self) -> None:
        """Look until cancelled. Raises `Fenced`."""
        while True:
            pause_s = self._settings.look_every.total_seconds()
            try:
                due_in_s = await self._look_once()
                if due_in_s is not None:
                    pause_s = min(pause_s, max(0.0, due_in_s) + DUE_PAUSE_S)
            except Fenced:
                raise
            except ShoalError as error:
                log.warning("look_failed", error=str(error))
            await set_within(self._look, pause_s)

    async def _look_once(self) -> float | None:
        """Seconds until the next attempt is due, if any waits."""
        async with self._life.database.reading() as connection:
            waiting = await commands.work_waits(
                connection,
                self._membership.slot,
                self._settings.steal_after,
                self._settings.id_step,
                self._life.me.epoch,
            )
        self._loop.aged = self._loop.aged or waiting.aged
        if waiting.schedules and not self._schedules.any_online:
            self._schedules.changed()
        self._schedules.any_online = waiting.schedules
        self._driver.dependents_wait = waiting.dependents
        if waiting.dependents:
            self._dependents.wake.set()
        self._loop.deadly = self._loop.deadly or waiting.deadly
        if waiting.mine or waiting.aged or self._loop.deadly:
            self._loop.wake.set()
        if waiting.events:
            self._driver.wake.set()
        if waiting.due_in_s is not None and waiting.due_in_s <= 0:
            await self._queue_due()
        return waiting.due_in_s

    async def _queue_due(self) -> None:
        async with self._life.database.writing() as connection:
            await nodes.hold_alive(connection, self._life.me)
            groups = await task_instances.queue_due(connection, DUE_BATCH)
            if groups:
                await notify(connection, TASK, groups)
