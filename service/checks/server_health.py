"""Checks of the database server: what it is, its clock, its connections, its promises."""

from __future__ import annotations

from collections.abc import AsyncIterator

from dao.checks import server_checks
from dao.checks.server_checks import CONNECTIONS_LEFT_MIN, OLDEST_SERVER, Server
from dao.postgres.database import CONNECTIONS_MAX, Database
from model.errors import ShoalError
from service.checks.check_result import Result, Verdict, passed, result_of, unknown
from service.checks.table_health import checked
from service.words import counted, duration

CLOCK_OFF_S = 5.0
CONNECTIONS_OF_A_NODE = CONNECTIONS_MAX + 2
"""Its pool, one for its beats, one that listens."""
CONNECTIONS_OF_A_REGISTRY = 2
SET_CLOCKS = "Let NTP or chrony set the clocks of all machines."


def database_result(server: Server, shown: str, took_s: float) -> Result:
    """Whether the server meets Shoal's requirements."""
    faults = []
    if server.major < OLDEST_SERVER:
        faults.append(f"it is PostgreSQL {server.version}, and Shoal needs {OLDEST_SERVER} or newer")
    if server.is_standby:
        faults.append("it takes no writes: it is a standby, or read-only")
    detail = f"PostgreSQL {server.version} in {duration(took_s)}, {shown}"
    return result_of("database", "the database answers", faults, "Let the URL point to the primary.", detail)


def clock_result(ahead_s: float) -> Result:
    """Whether this machine's clock agrees with the database's, which is `ahead_s` seconds ahead."""
    condition = "this machine's clock is that of the database"
    detail = f"{duration(abs(ahead_s))} {'behind' if ahead_s > 0 else 'ahead'}"
    if abs(ahead_s) <= CLOCK_OFF_S:
        return passed("clock", condition, detail)
    shown = [f"this machine is {detail}; nothing is decided by it, but its logs have other times than the tables"]
    return Result("clock", condition, Verdict.NOTE, detail, 1, shown, SET_CLOCKS)


def room_for_nodes_result(server: Server, masters: int, workers: int, *, by_database: bool) -> Result:
    """Whether the server allows the connections that the nodes may open at most; they rarely open all of them.

    `by_database`: the registry is the database too, and takes more of them.
    """
    each = CONNECTIONS_OF_A_NODE + (CONNECTIONS_OF_A_REGISTRY if by_database else 0)
    most = (masters + workers) * each
    detail = (
        f"{counted(masters, 'master')} and {counted(workers, 'worker')} may open {most} of {server.connections_max}"
    )
    short = [f"{detail}, {CONNECTIONS_LEFT_MIN} are kept for people: under load some of theirs would be refused"]
    return result_of(
        "connections_for_all",
        "the database allows the connections of all nodes",
        short if most > server.connections_max - CONNECTIONS_LEFT_MIN else [],
        f"Raise max_connections in postgresql.conf, to {most + 20} or more, and restart it; or run fewer nodes.",
        detail,
        bad=Verdict.NOTE,
    )


async def of_the_server(database: Database, server: Server) -> AsyncIterator[Result]:
    """Whether the server has connections left, keeps what it acknowledges, and has the guards of the schema."""
    free = server.connections_max - server.connections
    crowded = [f"{server.connections} of {server.connections_max} are taken"] if free < CONNECTIONS_LEFT_MIN else []
    detail = f"{server.connections} of {server.connections_max} taken"
    yield result_of(
        "connections", "the database has connections left", crowded, "Raise max_connections, or end others.", detail
    )
    condition = "the database keeps what it has acknowledged"
    try:
        faults = await server_checks.dangers(database)
        yield result_of("durability", condition, faults, "Switch it on in postgresql.conf, and reload.")
    except ShoalError as error:
        yield unknown("durability", condition, error)
    yield await checked(database, server_checks.STANDBY, {})
    yield await checked(database, server_checks.GUARDS, server_checks.guards())
    yield await checked(database, server_checks.SESSIONS, {})
