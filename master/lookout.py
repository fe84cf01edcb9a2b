"""Looks for work that nobody told of: on a timer, when the slot changed, and when an attempt's wait is over.

One statement a look, so that an idle master costs next to nothing; whoever is woken by it reads the tables again.
"""

from __future__ import annotations

import asyncio
import random

import structlog

from dao import commands, nodes, task_events, task_instances
from dao.notify import TASK, notify
from master.command_loop import CommandLoop
from master.dependents import Dependents
from master.driver import Driver
from master.membership import Membership
from master.schedules import Schedules
from master.settings import MasterSettings
from model.backoff import Backoff
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
        self._held_up = Backoff(DUE_PAUSE_S, settings.look_every.total_seconds())
        """While only such attempts are due as somebody else holds."""

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
        if waiting.dependents or self._driver.dependents_wait:  # once more when the last has ended: it is forgotten
            self._dependents.look_on()
        self._driver.dependents_wait = waiting.dependents
        self._loop.deadly = self._loop.deadly or waiting.deadly
        if waiting.mine or waiting.aged or self._loop.deadly:
            self._loop.wake.set()
        if waiting.events:
            self._driver.wake.set()
        if waiting.stray_events:
            async with self._life.database.writing() as connection:
                await nodes.hold_alive(connection, self._life.me)
                await task_events.readdress(connection)
        if waiting.due_in_s is not None and waiting.due_in_s <= 0:
            return await self._queue_due()
        self._held_up.reset()
        return waiting.due_in_s

    async def _queue_due(self) -> float | None:
        """Seconds until it is worth to look again, if it is before the next look."""
        async with self._life.database.writing() as connection:
            await nodes.hold_alive(connection, self._life.me)
            groups = await task_instances.queue_due(connection, DUE_BATCH)
            if groups:
                await notify(connection, TASK, groups)
            failed = await task_instances.fail_undispatched(connection, DUE_BATCH)
            due_in_s = await task_instances.next_due_in_s(connection)
        if DUE_BATCH in (len(groups), failed):
            return 0.0
        if groups or failed:
            self._held_up.reset()
        # What is due and could not be had is held by somebody, for who knows how long. The others go on in their time.
        pause_s = self._held_up.next_pause_s(random.random())  # noqa: S311 - jitter
        return min(pause_s, due_in_s)
