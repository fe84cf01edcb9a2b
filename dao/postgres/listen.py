"""Wakes by PostgreSQL: LISTEN on a dedicated connection.

A notification carries no data that matters; it means "check now". After each reconnect all functions are called, since
notifications sent in between are lost. Callers also poll on a timer, so a lost notification only costs a delay.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Mapping

import psycopg

from dao.logger import logger
from dao.postgres.address import Address
from dao.postgres.connection import Connection
from dao.postgres.database import connect
from model.errors import Unavailable

log = logger()

Wake = Callable[[str], None]
Probe = Callable[[Connection], Awaitable[object]]


def probe(connection: Connection) -> Awaitable[object]:
    """A round trip and no more."""
    return connection.execute("SELECT 1")


class Listener:
    """Calls a function on the loop for each notification on its channels; reconnects forever, with a short pause.

    `channels` maps a channel's name (a plain SQL identifier) to the function, which is called with the payload (""
    after a reconnect: anything may have happened). The functions must return at once. `check` is a short statement
    that shows that the connection works; it may raise what psycopg raises.
    """

    PROBE_S = 3.0
    """How often the connection is checked for life: silence is normal on it."""
    ANSWER_WITHIN_S = 2.0
    PAUSE_S_MAX = 1.0

    def __init__(self, url: str, application_name: str, channels: Mapping[str, Wake], check: Probe = probe) -> None:
        self.url = url
        self._application_name = application_name
        self._channels = dict(channels)
        self._check = check
        self.is_listening = False

    def share(self, channel: str, wake: Wake, check: Probe) -> None:
        """Listen on one more channel, and use this check, which is worth more. To be called before `run`."""
        self._channels[channel] = wake
        self._check = check

    async def run(self) -> None:
        """Listen until cancelled. Raises nothing else."""
        pause_s, is_lost = 0.05, False
        while True:
            try:
                async with await connect(self.url, self._application_name, self.ANSWER_WITHIN_S) as connection:
                    for channel in self._channels:
                        await connection.execute(f'LISTEN "{channel}"')
                    if is_lost:
                        log.info("listening_again", database=Address.of(self.url).shown)
                    pause_s, is_lost = 0.05, False
                    self.is_listening = True
                    self._wake_all()
                    await self._receive(connection)
            except (Unavailable, psycopg.Error, OSError) as error:
                if not is_lost:
                    log.warning(
                        "listen_connection_lost", database=Address.of(self.url).shown, error=str(error).strip()[:200]
                    )
                is_lost, self.is_listening = True, False
            await asyncio.sleep(pause_s * random.uniform(0.5, 1.0))  # noqa: S311 - jitter
            pause_s = min(pause_s * 2, self.PAUSE_S_MAX)

    async def _receive(self, connection: Connection) -> None:
        while True:
            async for notification in connection.notifies(timeout=self.PROBE_S):
                wake = self._channels.get(notification.channel)
                if wake is not None:
                    wake(notification.payload)
            await self._check(connection)

    def _wake_all(self) -> None:
        for wake in self._channels.values():
            wake("")
