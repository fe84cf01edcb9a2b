"""The connections of one node: made when they are needed, and kept for the next who needs one.

The one used last is taken first: its plans are made, and its server process is in the caches. psycopg's own pool makes
connections in the background and tells its users only that none came in time, not why.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

from psycopg.pq import TransactionStatus

from dao.postgres.connection import Connection
from dao.postgres.rows import Row, Rows, named_rows
from dao.postgres.sql import Sql
from model.errors import Unavailable

Values = Mapping[str, Any]


class AsyncConnection:
    """A connection of the pool for one block; `driver` is psycopg's."""

    __slots__ = ("driver", "info")

    def __init__(self, driver: Connection) -> None:
        self.driver = driver
        self.info: dict[str, Any] = {}
        """What belongs to this block, by keys of those who put it there."""

    async def execute(self, statement: Sql, values: Values | Sequence[Values] | None = None) -> Rows:
        """Execute it with these values, or once with each of several. Raises psycopg's errors."""
        cursor = self.driver.cursor(row_factory=named_rows)
        if isinstance(values, Sequence):
            await cursor.executemany(statement.query, values)
            return Rows([], cursor.rowcount)
        await cursor.execute(statement.query, {**statement.values, **(values or {})})
        rows: list[Row] = await cursor.fetchall() if cursor.description is not None else []
        return Rows(rows, cursor.rowcount)

    @asynccontextmanager
    async def savepoint(self) -> AsyncIterator[None]:
        """The transaction goes on as it was before the block if that raises an error."""
        await self.execute(_SAVEPOINT)
        try:
            yield
        except Exception:
            await self.execute(_ROLL_BACK)
            raise
        await self.execute(_RELEASE)


_SAVEPOINT = Sql("SAVEPOINT block")
_ROLL_BACK = Sql("ROLLBACK TO SAVEPOINT block")
_RELEASE = Sql("RELEASE SAVEPOINT block")


class Pool:
    """Up to `connections_max` connections, each made by `connect`."""

    def __init__(
        self, connect: Callable[[], Awaitable[Connection]], connections_max: int, wait_s_max: float = 10.0
    ) -> None:
        self._connect = connect
        self._connections_max = connections_max
        self._wait_s_max = wait_s_max
        self._room = asyncio.Semaphore(connections_max)
        self._idle: list[Connection] = []
        self._generation = 0

    @property
    def idle(self) -> int:
        return len(self._idle)

    def close_idle(self) -> None:
        """Close those that nobody uses; those in use are closed when they are given back."""
        self._generation += 1
        for each in self._idle:
            each.pgconn.finish()
        self._idle.clear()

    async def take(self) -> tuple[Connection, int]:
        """A connection, to be given back with the number. Raises `Unavailable`: all are in use for too long; and what
        `connect` raises."""
        try:
            async with asyncio.timeout(self._wait_s_max):
                await self._room.acquire()
        except TimeoutError:
            raise Unavailable(
                f"all {self._connections_max} connections to the database were in use for {self._wait_s_max:g} s"
            ) from None
        try:
            generation = self._generation  # of the time before: what is made meanwhile may be of the dead server
            while self._idle:
                connection = self._idle.pop()
                if not connection.closed:
                    return connection, generation
            return await self._connect(), generation
        except BaseException:
            self._room.release()
            raise

    async def give_back(self, connection: Connection, generation: int) -> None:
        """End its transaction and keep it. If it is dead, the idle ones are closed too: they may be as well."""
        try:
            if not connection.closed and connection.pgconn.transaction_status != TransactionStatus.IDLE:
                await connection.rollback()
        except Exception:  # noqa: BLE001 - its user has had the error
            connection.pgconn.finish()
        finally:
            self._room.release()
            if connection.closed:
                if generation == self._generation:
                    self.close_idle()
            elif generation == self._generation and connection.pgconn.transaction_status == TransactionStatus.IDLE:
                self._idle.append(connection)
            else:
                connection.pgconn.finish()
