"""What operations work on in this process."""

from __future__ import annotations

from functools import partial

from dao.postgres.database import Database
from service.accounts.passwords import Passwords
from service.call import Backend
from service.cluster.registered_masters import RegisteredMasters
from shoal.cluster.machine_health import machine_results
from shoal.config.settings import Settings
from worker.tasks.catalog import TaskCatalog


def backend_of(database: Database, settings: Settings) -> Backend:
    """The backend of a process: its database and settings, and the task types, checks and drivers of this machine."""
    return Backend(
        database,
        settings,
        TaskCatalog(),
        partial(machine_results, settings),
        _connect,
        Passwords(),
        RegisteredMasters(database, settings),
    )


async def _connect(name: str, url: str) -> str:
    from worker.statements.session import in_session

    return await in_session(name, url, lambda session: session.ask_for_one())
