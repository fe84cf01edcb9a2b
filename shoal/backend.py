"""What operations work on in this process."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from dao.postgres.database import Database
from dao.secrets.data_source_url import STORAGE, parse_data_source_url
from service.accounts.passwords import Passwords
from service.call import Backend
from service.cluster.registered_masters import RegisteredMasters
from service.logs.stored_logs import StoredLogs
from service.slots.slot_owners import SlotOwners
from shoal.config.settings import Settings
from shoal.local.drill import DrillClient
from worker.tasks.catalog import TaskCatalog

if TYPE_CHECKING:
    from dao.cluster.node_rows import NodeRow
    from service.checks.check_result import Result
    from service.workflows.importing import ImportAnswer, ImportFiles


def backend_of(database: Database, settings: Settings) -> Backend:
    """The backend of a process: its database and settings, and the task types, checks and drivers of this machine."""

    def machine(nodes: Sequence[NodeRow]) -> list[Result]:
        from shoal.cluster.machine_health import machine_results

        return machine_results(settings, nodes)

    return Backend(
        database,
        settings,
        TaskCatalog(),
        machine,
        _connect,
        _imported,
        Passwords(),
        RegisteredMasters(database, settings),
        SlotOwners(database, settings.master.id_step),
        StoredLogs(settings.log_store),
        drill=DrillClient(settings.api.drill_socket) if settings.api.drill_socket is not None else None,
        channel_fault=_channel_fault,
    )


def open_heavy_backend(settings: Settings) -> Backend:
    """The backend of a process that handles heavy requests for an API with these settings."""
    from shoal.config.logging import configure_role_logging  # otherwise every completion would load it

    configure_role_logging(settings)
    database = Database(settings.database(), application_name="shoal-api-heavy", connections_max=2)
    # Its API finds what it begins for other processes to continue.
    return replace(backend_of(database, settings), large_bulk=asyncio.Event())


async def _connect(name: str, url: str) -> str:
    from worker.statements.session import in_session
    from worker.statements.thread import run_in_thread
    from worker.tasks.bucket_look import ask_for_one

    parsed = parse_data_source_url(url)
    if parsed.get_backend_name() == STORAGE:
        await run_in_thread(lambda: ask_for_one(parsed, name), lambda: None, 0)
        return STORAGE
    return await in_session(name, url, lambda session: session.ask_for_one())


def _imported(asked: ImportFiles) -> ImportAnswer:
    from importers.asked import imported

    return imported(asked, TaskCatalog())


async def _channel_fault(url: str) -> str | None:
    from alert.url_check import fault_of

    return await fault_of(url)
