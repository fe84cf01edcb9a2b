"""Connections to PostgreSQL, and the only way to write a transaction.

Every connection has Shoal's session settings (`dao/postgres/session_settings.py`). On READ COMMITTED the re-check of
locked rows relies. `application_name` names the node, such as `shoal-master-17`, so that fencing can end its sessions.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from datetime import datetime, timedelta
from functools import partial
from typing import Concatenate, NewType, ParamSpec, TypeVar

import psycopg

from dao.postgres import session_settings
from dao.postgres.address import Address
from dao.postgres.connection import Connection
from dao.postgres.errors import translated, translating
from dao.postgres.measures import Measures
from dao.postgres.notify import announcer_on, collecting
from dao.postgres.pool import AsyncConnection, Pool
from dao.postgres.session_settings import STATEMENT_S_MAX
from dao.postgres.sql import Sql
from model.errors import Denied, ShoalError, Unavailable, Unknown

ANSWER_WITHIN_S = STATEMENT_S_MAX + 1.0
"""The longest wait for an answer, by our own clock. The server ends every statement before that and reports it. A later
answer was lost on the way; the connection is closed (`dao/postgres/connection.py`)."""

P = ParamSpec("P")
R = TypeVar("R")
_PLANNED_ONCE = {"plan_cache_mode": "force_generic_plan"}
_SNAPSHOT = Sql("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")


async def connect(url: str, application_name: str, answer_within_s: float = ANSWER_WITHIN_S) -> Connection:
    """A connection outside any pool, in autocommit: for LISTEN and leases. Raises `Unavailable`."""
    address = Address.of(url)
    try:
        return await Connection.connect_within(
            address,
            session_settings.SESSION_SETTINGS,
            application_name=application_name,
            answer_within_s=answer_within_s,
            autocommit=True,
        )
    except (psycopg.Error, OSError, Denied) as error:
        kind = Denied if isinstance(error, Denied) or isinstance(translated(error), Denied) else Unavailable
        raise kind(f"cannot reach the database {address.shown}: {_first_line(error)}") from error


IDLE_S = 10.0
"""Connections that were not needed for this long are closed."""


CONNECTIONS_MAX = 8
"""Of the pool of one node."""

FencedTransaction = NewType("FencedTransaction", AsyncConnection)
"""A transaction that holds its node's row, and so proves that the node has not been fenced (`node.life.Life.writing`).

Statements that only the owner of a run, an attempt or a slot may send take this type; those that read take any
connection.
"""


class Database:
    """A pool of connections to one PostgreSQL, for one node of the cluster.

    Args:
        url: in SQLAlchemy's form.
        application_name: the name of the connections in the database.
        connections_max: the maximum number of connections.
        answer_within_s: the longest wait for the answer to one statement; then its connection is closed.
        announces_together: announce changes of many transactions together and after their commits, for a node.
        keeps_plans: the server plans each statement once for a connection, and not at each execution, which takes
            longer than to execute it for a few rows. The plan must then be right for all parameters, and for tables
            that were empty when it was made (tests/dao/test_plans.py).
        measures: learns of waits, commits and errors.
    """

    def __init__(
        self,
        url: str,
        *,
        application_name: str,
        connections_max: int = CONNECTIONS_MAX,
        answer_within_s: float = ANSWER_WITHIN_S,
        announces_together: bool = False,
        keeps_plans: bool = False,
        measures: Measures | None = None,
    ) -> None:
        address = Address.of(url)
        self.url = url
        self.shown = address.shown
        self.application_name = application_name
        self.admits: Callable[[str | None], None] = _admits_all
        """Is told the server's timeline by each new connection, and raises `Unavailable` to refuse it."""
        connect = partial(
            Connection.connect_within,
            address,
            {**session_settings.SESSION_SETTINGS, **(_PLANNED_ONCE if keeps_plans else {})},
            application_name=application_name,
            answer_within_s=answer_within_s,
        )
        self._pool = Pool(lambda: self._admitted(connect), connections_max)
        self._keeps_plans = keeps_plans
        self._announcer = announcer_on(self.reading) if announces_together else None
        self._measures = measures or Measures()
        self._connections_max = connections_max
        self._measures.opened(connections_max)
        self._is_open = True
        self._in_use = self._in_use_max = 0
        self._trim_timer: asyncio.TimerHandle | None = None

    async def close(self) -> None:
        """Close the pool; connections in use are closed when they are returned."""
        if self._announcer is not None:
            await self._announcer.close()
        if self._trim_timer is not None:
            self._trim_timer.cancel()
            self._trim_timer = None
        if self._is_open:
            self._is_open = False
            self._measures.closed(self._connections_max)
        self._pool.close_idle()

    def doubt(self) -> None:
        """Close the idle connections: they are not needed, or another one turned out to be dead and these may be too.

        Connections in use are closed when they are returned.
        """
        self._pool.close_idle()

    async def _admitted(self, connect: Callable[[], Awaitable[Connection]]) -> Connection:
        connection = await connect()
        if self._keeps_plans:
            connection.prepare_threshold = 0  # at the first execution: it costs no more than to plan it for once
        try:
            self.admits(connection.timeline)
        except Unavailable:
            connection.pgconn.finish()
            raise
        return connection

    @asynccontextmanager
    async def reading(self) -> AsyncIterator[AsyncConnection]:
        """A connection in autocommit, for single statements. Raises `Unavailable` or `BadData`."""
        with self._counted(), translating():
            async with self._pooled(autocommit=True) as connection:
                yield connection

    async def read(
        self, function: Callable[Concatenate[AsyncConnection, P], Awaitable[R]], *args: P.args, **kwargs: P.kwargs
    ) -> R:
        """What a single statement gives, on such a connection."""
        async with self.reading() as connection:
            return await function(connection, *args, **kwargs)

    @asynccontextmanager
    async def snapshot(self) -> AsyncIterator[AsyncConnection]:
        """A transaction that only reads: all its statements see one moment. Raises `Unavailable` or `BadData`."""
        with self._counted(), translating():
            async with self._pooled(autocommit=True) as connection:
                await connection.execute(_SNAPSHOT)
                yield connection

    @asynccontextmanager
    async def writing(self) -> AsyncIterator[AsyncConnection]:
        """One transaction, committed at the end of the block.

        Raises:
            Unavailable: the server failed or a lock was held; nothing was written, and a retry may work.
            BadData: the database refused the data; nothing was written.
            Unknown: the connection was lost during COMMIT. Call the barrier (`dao.cluster.nodes.barrier`), then read
                the outcome; never guess.
        """
        with self._counted():
            async with self._transaction() as connection:
                yield connection

    async def write(
        self, function: Callable[Concatenate[AsyncConnection, P], Awaitable[R]], *args: P.args, **kwargs: P.kwargs
    ) -> R:
        """What a single statement gives, in such a transaction."""
        async with self.writing() as connection:
            return await function(connection, *args, **kwargs)

    @contextmanager
    def _counted(self) -> Iterator[None]:
        """Count the connections in use: the maximum shows how many are needed."""
        self._in_use += 1
        self._in_use_max = max(self._in_use_max, self._in_use)
        self._measures.began()
        try:
            yield
        except BaseException as error:
            self._measures.failed(error)
            raise
        finally:
            self._in_use -= 1
            self._measures.ended()
            if self._trim_timer is None:
                self._trim_timer = asyncio.get_running_loop().call_later(IDLE_S, self._trim)

    def _trim(self) -> None:
        """Close idle connections if there are more than were lately in use at once; a new one is made quickly."""
        self._trim_timer = None
        needed, self._in_use_max = max(1, self._in_use_max), self._in_use
        if self._pool.idle + self._in_use > needed:
            self.doubt()

    @asynccontextmanager
    async def _pooled(self, *, autocommit: bool = False) -> AsyncIterator[AsyncConnection]:
        began_s = time.monotonic()
        with translating():
            driver, generation = await self._pool.take()
        self._measures.waited(time.monotonic() - began_s)
        try:
            if driver.autocommit != autocommit:
                await driver.set_autocommit(autocommit)
            yield AsyncConnection(driver)
        finally:
            await self._pool.give_back(driver, generation)

    @asynccontextmanager
    async def _transaction(self) -> AsyncIterator[AsyncConnection]:
        async with self._pooled() as connection:
            try:
                with translating(), collecting(connection, self._announcer) as notices:
                    yield connection
            except BaseException:
                await _abandon(connection)
                raise
            began_s = time.monotonic()
            try:
                await connection.driver.commit_with(notices.statements())
            except BaseException as error:
                notices.in_doubt()
                await _abandon(connection)
                if isinstance(error, ShoalError):  # what opens the transaction forbids it
                    raise
                outcome = translated(error) if isinstance(error, Exception) else None
                # A server that answers COMMIT, or what goes with it, with an ERROR has rolled back; FATAL and PANIC end
                # the session or the server.
                if outcome is not None and _answered(error):
                    raise outcome from error
                if isinstance(error, Exception):
                    raise Unknown(f"the connection to {self.shown} went while a transaction was committing") from error
                raise
            self._measures.committed(time.monotonic() - began_s)
            notices.committed()


def _admits_all(_timeline: str | None) -> None:
    pass


async def _abandon(connection: AsyncConnection) -> None:
    """Roll back if the connection works; close it if it does not, or if we are cancelled meanwhile."""
    try:
        await connection.driver.rollback()
    except BaseException as error:
        connection.driver.pgconn.finish()
        if not isinstance(error, Exception):
            raise


def _answered(error: BaseException) -> bool:
    return isinstance(error, psycopg.Error) and error.diag.severity_nonlocalized == "ERROR"


def _first_line(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__


async def database_time(connection: AsyncConnection) -> datetime:
    """The database's time, aware UTC; decisions use only this clock."""
    moment: datetime = (await connection.execute(Sql("SELECT clock_timestamp()"))).scalar_one()
    return moment


async def wait_briefly(connection: AsyncConnection, most: timedelta) -> None:
    """Wait for each lock no longer than that in this transaction: for one of many that are tried one by one."""
    given = {"most": f"{max(1, most // timedelta(milliseconds=1))}ms"}
    await connection.execute(Sql("SELECT set_config('lock_timeout', :most, true)"), given)
