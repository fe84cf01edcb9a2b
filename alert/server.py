"""One sender as a process: its database, its wake-ups, its loop. It has no row in the database; any number may run."""

from __future__ import annotations

import asyncio

import structlog

from alert.sender import Sender
from alert.settings import AlertSettings
from dao.postgres.database import Database
from dao.postgres.listen import Listener
from dao.postgres.notify import ALERT
from dao.postgres.readiness import wait_until_ready
from dao.secrets.vault import Vault
from metrics.database import DatabaseMetrics
from metrics.health import Health
from node.vitals import hears

log = structlog.get_logger()

APPLICATION_NAME = "shoal-alert"
CONNECTIONS_MAX = 4


class AlertServer:
    """Sends alerts from `run` until it is stopped.

    Args:
        url: of the database.
        vault: opens the URLs of the channels.
        settings: see `AlertSettings`.
        name: for people: the host's name and the process's id.
        connect_timeout_s: how long it waits for the database when it starts.
        health: learns when it has begun, and whether it sends.
    """

    def __init__(
        self,
        url: str,
        vault: Vault,
        settings: AlertSettings,
        name: str,
        *,
        connect_timeout_s: float,
        health: Health | None = None,
    ) -> None:
        self._url, self._vault, self._settings, self._name = url, vault, settings, name
        self._connect_timeout_s = connect_timeout_s
        self._health = health or Health()

    async def run(self, stop: asyncio.Event) -> None:
        """Send until `stop` is set, then finish. Raises `Unavailable`, `Refused` or `Denied` at start."""
        await wait_until_ready(self._url, "alert", self._connect_timeout_s)
        database = Database(
            self._url, application_name=APPLICATION_NAME, connections_max=CONNECTIONS_MAX, measures=DatabaseMetrics()
        )
        sender = Sender(database, self._vault, self._settings, self._name)
        ears = Listener(self._url, APPLICATION_NAME, {ALERT: sender.wake})
        listening = asyncio.create_task(ears.run())
        self._health.begun.set()
        log.info("sends_alerts", name=self._name, channels_at_once=self._settings.at_once)
        try:
            with self._health.judged_by(ready=[hears(ears), sender.why_idle]):
                await sender.run(stop)
        finally:
            listening.cancel()
            await asyncio.gather(listening, return_exceptions=True)
            await database.close()
        log.info("sends_alerts_no_more", name=self._name)
