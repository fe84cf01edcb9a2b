"""`shoal doctor`: everything that must be true of a cluster, checked from outside, one by one.

First the server, then the nodes and this machine, then the tables. Nothing is fixed here; each finding comes with a
sentence that explains the fix.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from datetime import UTC, datetime

from dao.checks import server_checks
from dao.checks.server_checks import Server
from dao.cluster import cluster, node_listings
from dao.cluster.node_rows import NodeRow
from dao.postgres import schema
from dao.postgres.database import Database, database_time
from model.cluster.timing import Timing
from model.errors import Refused, ShoalError
from registry.belonging import OWN_DATABASE, AnotherRegistry
from registry.clock import boottime_s
from service.checks import log_service_health, log_store_health
from service.checks.check_result import Result, passed, result_of, unknown
from service.checks.node_health import REGISTRY_CONDITION, TIMING_CONDITION, of_the_nodes
from service.checks.server_health import clock_result, database_result, of_the_server, room_for_nodes_result
from service.checks.table_health import of_the_tables
from service.cluster.registered_masters import RegisteredMasters
from service.settings import ServiceSettings

MachineChecks = Callable[[Sequence[NodeRow]], Sequence[Result]]

SCHEMA_CONDITION = "its schema fits this program"


async def examine(
    settings: ServiceSettings, database: Database, registered: RegisteredMasters, machine: MachineChecks
) -> AsyncIterator[Result]:
    """Run all checks, in order; `machine` are those of this machine, given the living nodes.

    Ends early when the database does not answer or has another schema.
    """
    try:
        async with database.reading() as connection:
            asked_s, asked_at = boottime_s(), datetime.now(UTC)
            its_time = await database_time(connection)
            took_s = boottime_s() - asked_s
            server = await server_checks.server(connection)
    except ShoalError as error:
        fix = "Is it running, and are URL, user and password right? shoal config show"
        yield result_of("database", "the database answers", [f"{database.shown}: {error}"], fix)
        return
    yield database_result(server, database.shown, took_s)
    try:
        version = await schema.check(database)
    except Refused as error:
        yield result_of("schema", SCHEMA_CONDITION, [str(error)], "Fix what it says, then ask again")
        return
    except ShoalError as error:
        yield unknown("schema", SCHEMA_CONDITION, error)
        return
    yield passed("schema", SCHEMA_CONDITION, f"version {version}")
    async for result in of_the_server(database, server):
        yield result
    yield clock_result((its_time - asked_at).total_seconds() - took_s / 2)
    timing = settings.timing
    try:
        recorded = await database.read(cluster.timing)
        timing = recorded or settings.timing
    except Refused as error:
        yield result_of("timing", TIMING_CONDITION, [str(error)], "shoal db timing --set NAME=SECONDS")
    except ShoalError as error:
        yield unknown("timing", TIMING_CONDITION, error)
    async for result in _of_the_nodes(database, server, settings, timing, registered, machine):
        yield result
    async for result in of_the_tables(database, settings, timing):
        yield result


async def _of_the_nodes(
    database: Database,
    server: Server,
    settings: ServiceSettings,
    timing: Timing,
    registered: RegisteredMasters,
    machine: MachineChecks,
) -> AsyncIterator[Result]:
    try:
        present = await registered.read()
        results = await database.read(of_the_nodes, present, settings, timing)
        for result in results:
            yield result
    except AnotherRegistry as error:
        yield result_of("registry", REGISTRY_CONDITION, [str(error)], "Name the cluster's registry, or none.")
    except ShoalError as error:
        yield unknown("masters", "masters are alive, and beat", error)
    try:
        async with database.reading() as connection:
            masters, workers = await node_listings.masters(connection), await node_listings.workers(connection)
            recorded = await cluster.registry(connection)
    except ShoalError as error:
        yield unknown("log_services", log_service_health.CONDITION, error)
        return
    by_database = recorded is None or recorded.place == OWN_DATABASE
    yield room_for_nodes_result(server, len(masters), len(workers), by_database=by_database)
    try:
        answers = await log_service_health.ask(workers, settings.log_ca)
    except Refused as error:
        yield unknown("log_services", log_service_health.CONDITION, error)
    else:
        for result in log_service_health.log_service_results(len(workers), answers):
            yield result
    yield await log_store_health.log_store_result(database, settings.log_store)
    for result in machine([*masters, *workers]):
        yield result
