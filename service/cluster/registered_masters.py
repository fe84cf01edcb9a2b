"""The masters that the registry has, for the operations that show slots.

The registry is asked at most once a second by a process, however many requests want to know, and never while a
connection to the database is held: a registry that hangs delays those who ask for slots, and nobody else.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from dao.cluster import cluster
from dao.postgres.database import Database
from model.cluster.nodes import Heartbeat, NodeKind
from model.errors import Refused, Unavailable
from registry import belonging
from registry.clock import boottime_s
from registry.connect import make_registry
from service.settings import ServiceSettings

REGISTRY_TIMEOUT_S = 3.0
VALID_S = 1.0


@dataclass(frozen=True)
class Registered:
    """The masters in the registry; None: it could not be read, and `fault` is why."""

    masters: Sequence[Heartbeat] | None
    fault: str | None = None


class RegisteredMasters:
    """Reads the registry; an answer serves all requests of one second.

    Args:
        database: that of the cluster, which has its registry on record.
        settings: may name the registry.
    """

    def __init__(self, database: Database, settings: ServiceSettings) -> None:
        self._database = database
        self._settings = settings
        self._reading: asyncio.Task[Registered] | None = None
        self._read_s = 0.0

    async def read(self) -> Registered:
        """The masters that it has now. Call it without a connection to the database.

        A registry that does not answer within seconds is reported in the result.

        Raises:
            AnotherRegistry: the settings name a registry that is not the cluster's.
            Unavailable: the database does not answer.
        """
        if self._reading is None or (self._reading.done() and self._is_old(self._reading)):
            self._reading = asyncio.create_task(self._read())
        return await asyncio.shield(self._reading)  # others wait for it too

    def _is_old(self, done: asyncio.Task[Registered]) -> bool:
        failed = done.cancelled() or done.exception() is not None
        return failed or boottime_s() > self._read_s + VALID_S

    async def _read(self) -> Registered:
        settings = self._settings
        recorded = await self._database.read(cluster.registry)
        url = belonging.url_to_use(settings.named_registry(), recorded, settings.database())
        timeout = settings.timing.session_timeout
        registry = make_registry(url, session_timeout=timeout, application_name="shoal-cli")
        try:
            await registry.open(REGISTRY_TIMEOUT_S)
            async with asyncio.timeout(REGISTRY_TIMEOUT_S):
                if recorded is not None:
                    await belonging.check(registry, recorded, belonging.place_of(url, settings.database()))
                return Registered(await registry.members(NodeKind.MASTER))
        except belonging.AnotherRegistry:
            raise
        except TimeoutError:
            return Registered(None, f"the registry {registry.url} did not answer within {REGISTRY_TIMEOUT_S:g} s")
        except (Unavailable, Refused) as error:
            return Registered(None, str(error))
        finally:
            await registry.close()
            self._read_s = boottime_s()
