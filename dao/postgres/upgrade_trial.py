"""What the scripts of an upgrade lock, and for how long: they are run and undone.

Nothing is declared beside a script, which could say something else than it does. Nodes wait for these locks as for
those of the upgrade: so that none is fenced, all scripts together take no longer than `TRIAL_S_MAX`. They run in one
transaction: of two that lock a table alike, the first is named.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace

import psycopg

from dao.postgres.database import Database
from dao.postgres.pool import AsyncConnection
from dao.postgres.rows import Row
from dao.postgres.schema_scripts import Script
from dao.postgres.sql import Sql
from dao.postgres.table_changes import LOCKS_WITHIN_S, change_tables
from model.errors import Unavailable

TRIAL_S_MAX = 3.0
LOOK_EVERY_S = 0.2

_CANCEL = Sql("SELECT pg_cancel_backend(:pid)")
_TABLES = Sql("""
    SELECT c.oid, c.relname, c.relfilenode, pg_table_size(c.oid) AS bytes,
           pg_size_pretty(pg_table_size(c.oid)) AS size, pg_stat_get_xact_numscans(c.oid) AS scans
    FROM pg_class c WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind = 'r'
      AND c.relname <> 'schema_version'
""")
_LOCKS = Sql("""
    SELECT l.relation, l.mode FROM pg_locks l
    WHERE l.pid = :pid AND l.locktype = 'relation' AND l.granted
      AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
      AND l.mode NOT IN ('AccessShareLock', 'RowShareLock')
    ORDER BY l.relation, array_position(ARRAY['AccessExclusiveLock', 'ExclusiveLock', 'ShareRowExclusiveLock',
                                              'ShareLock', 'ShareUpdateExclusiveLock'], l.mode)
""")
BLOCKED = {
    "RowExclusiveLock": "writes of the same rows",
    "ShareUpdateExclusiveLock": "nothing",
    "ShareLock": "writes",
    "ShareRowExclusiveLock": "writes",
    "ExclusiveLock": "writes",
    "AccessExclusiveLock": "reads and writes",
}
"""The lock of a table -> what waits for it."""


@dataclass(frozen=True)
class Lock:
    """The strongest lock that a script takes on a table, and what it does with the table's rows meanwhile.

    `work` is `scan` or `rewrite`, None = it reads no whole table, as far as it came.
    """

    table: str
    mode: str
    work: str | None
    bytes: int
    size: str


@dataclass(frozen=True)
class Trial:
    """One script: its locks, and the time that it took here; None = the trial was ended for its time."""

    script: str
    took_s: float | None
    locks: tuple[Lock, ...]


class _Undone(Exception):
    """Takes the results out of a transaction that is rolled back."""

    def __init__(self, trials: list[Trial]) -> None:
        super().__init__()
        self.trials = trials


async def tried(database: Database, scripts: Sequence[Script], within_s: float = LOCKS_WITHIN_S) -> list[Trial]:
    """Run these scripts and undo them; those after one that took too long are left out.

    Args:
        database: of a user that may change tables, with two connections.
        scripts: in order.
        within_s: how long it tries to get their locks.

    Raises:
        Unavailable: others hold locks for too long; the message names them.
    """

    async def run(connection: AsyncConnection) -> None:
        trials: list[Trial] = []
        first = {row.oid: row for row in await connection.execute(_TABLES)}
        async with _ended_in_time(database, connection) as held:
            for script in scripts:
                trials.append(await _tried(connection, script, first, held))
                if trials[-1].took_s is None:
                    break
        taken: set[tuple[str, str]] = set()
        for place, trial in enumerate(trials):
            new = tuple(lock for lock in trial.locks if (lock.table, lock.mode) not in taken)
            taken |= {(lock.table, lock.mode) for lock in new}
            trials[place] = replace(trial, locks=new)
        raise _Undone(trials)

    try:
        await change_tables(database, "the trial", run, within_s)
    except _Undone as undone:
        return undone.trials
    raise AssertionError


async def _tried(connection: AsyncConnection, script: Script, first: Mapping[int, Row], held: list[Row]) -> Trial:
    """Run it. `first`: the tables before all scripts, which alone others use; `held`: the locks that were last seen."""
    before = {row.oid: row for row in await connection.execute(_TABLES)}
    began_s, took_s, after = time.monotonic(), None, before
    with suppress(psycopg.errors.QueryCanceled):
        await connection.driver.execute(script.content.encode())
        took_s = time.monotonic() - began_s
        held[:] = await connection.execute(_LOCKS, {"pid": connection.driver.pgconn.backend_pid})
        after = {row.oid: row for row in await connection.execute(_TABLES)}
    strongest = {row.relation: row.mode for row in reversed(held) if row.relation in first}
    locks = [_lock(before[oid], after.get(oid), mode) for oid, mode in strongest.items()]
    return Trial(script.name, took_s, tuple(sorted(locks, key=lambda lock: (-lock.bytes, lock.table))))


def _lock(before: Row, after: Row | None, mode: str) -> Lock:
    work = None
    if after is not None and after.relfilenode != before.relfilenode:
        work = "rewrite"
    elif after is not None and after.scans > before.scans:
        work = "scan"
    return Lock(before.relname, mode, work, before.bytes, before.size)


@asynccontextmanager
async def _ended_in_time(database: Database, connection: AsyncConnection) -> AsyncIterator[list[Row]]:
    """Within this block, the locks that the connection was last seen to hold; after its time its statement is ended,
    which loses them."""
    held: list[Row] = []
    pid, deadline_s = {"pid": connection.driver.pgconn.backend_pid}, time.monotonic() + TRIAL_S_MAX

    async def look() -> None:
        while True:
            await asyncio.sleep(LOOK_EVERY_S)
            with suppress(Unavailable):
                async with database.reading() as other:
                    held[:] = [*await other.execute(_LOCKS, pid)] or held
                    if time.monotonic() > deadline_s:
                        await other.execute(_CANCEL, pid)

    looking = asyncio.create_task(look())
    try:
        yield held
    finally:
        looking.cancel()
        await asyncio.gather(looking, return_exceptions=True)
