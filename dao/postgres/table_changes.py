"""Transactions that change tables or the rights to them, while nodes may run.

Each locks what it changes, and later statements queue behind it: so it waits for a lock only briefly, then rolls back
and starts again. It does so too after a deadlock, since it locks tables in another order than the nodes' statements do.
An advisory lock lets only one of them run at a time.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import TypeVar

from dao.logger import logger
from dao.postgres.database import Database
from dao.postgres.errors import LockTaken
from dao.postgres.pool import AsyncConnection
from dao.postgres.sql import Sql
from model.backoff import Backoff
from model.errors import Unavailable

log = logger()

T = TypeVar("T")

LOCKS_WITHIN_S = 60.0
"""How long a change tries to get its locks."""
LOCK_TIMEOUT = "1s"
"""How long it waits for one lock, which blocks the statements that queue behind it."""

# Our sessions time out after seconds; a change, or another process that makes one, may take longer. A separate
# statement from the lock, because the time-out of a statement is fixed when it begins.
_PATIENT = Sql("""
    SELECT set_config('statement_timeout', '0', true), set_config('lock_timeout', '0', true),
           set_config('idle_in_transaction_session_timeout', '0', true)
""")
_HASTY = Sql("SELECT set_config('lock_timeout', :limit, true)")
_BLOCKERS = Sql("""
    SELECT format('session %s (%s, user %s, %s for %s s)', b.pid, coalesce(nullif(b.application_name, ''), 'no name'),
                  b.usename, b.state, round(extract(epoch FROM clock_timestamp() - b.xact_start)))
    FROM pg_stat_activity b WHERE b.pid = ANY (pg_blocking_pids(:pid))
""")
_ALONE = Sql("SELECT pg_advisory_xact_lock(hashtext('shoal schema'))")


async def change_tables(
    database: Database,
    what: str,
    change: Callable[[AsyncConnection], Awaitable[T]],
    within_s: float = LOCKS_WITHIN_S,
) -> T:
    """Run `change` in a transaction, again and again until it gets its locks. Returns its result.

    Args:
        database: with two connections.
        what: names the change in the error.
        change: is rolled back and called again if it cannot have a lock.
        within_s: for how long it is called again.

    Raises:
        Unavailable: others hold locks for too long; the message names them.
    """
    backoff, deadline_s = Backoff(), time.monotonic() + within_s
    while True:
        blockers: list[str] = []
        try:
            async with database.writing() as connection, _patient(connection):
                await connection.execute(_ALONE)
                async with _watching_blockers(database, connection, blockers):
                    await connection.execute(_HASTY, {"limit": LOCK_TIMEOUT})
                    return await change(connection)
        except LockTaken as error:
            if time.monotonic() > deadline_s:
                who = "; ".join(blockers) or str(error)
                raise Unavailable(
                    f"{what} could not have its locks within {within_s:g} s, and changed nothing: "
                    f"held by {who}; let these end, then run it again"
                ) from error
            await asyncio.sleep(backoff.next_pause_s(random.random()))  # noqa: S311 - jitter


@asynccontextmanager
async def _patient(connection: AsyncConnection) -> AsyncIterator[None]:
    """For a transaction of unknown length: disable the server's time-outs and ours."""
    driver = connection.driver
    await connection.execute(_PATIENT)
    answer_within_s, driver.answer_within_s = driver.answer_within_s, None
    try:
        yield
    finally:
        driver.answer_within_s = answer_within_s


@asynccontextmanager
async def _watching_blockers(
    database: Database, connection: AsyncConnection, blockers: list[str]
) -> AsyncIterator[None]:
    """Within this block, `blockers` holds the sessions that last blocked the connection."""
    pid = (await connection.execute(Sql("SELECT pg_backend_pid()"))).scalar_one()

    async def read_blockers() -> None:
        while True:
            await asyncio.sleep(0.3)
            try:
                async with database.reading() as other:
                    if found := (await other.execute(_BLOCKERS, {"pid": pid})).scalars():
                        blockers[:] = found
            except Unavailable as error:
                log.warning("blockers_not_read", error=str(error))

    reading = asyncio.create_task(read_blockers())
    try:
        yield
    finally:
        reading.cancel()
        await asyncio.gather(reading, return_exceptions=True)
