"""Statements that share a round trip: libpq's pipeline mode.

What opens a transaction waits on the connection (`Opening`) and goes with its first statement; what it has to notify
goes with its COMMIT.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Self, cast

import psycopg
from psycopg.abc import Params, PQGen, Query, QueryNoTemplate
from psycopg.pq import TransactionStatus

from dao.postgres.sql import Sql

Statement = tuple[Sql, Mapping[str, object]]
"""A statement and its parameters."""

# The error that breaks a pipeline is raised; that the broken pipeline cannot be ended in order is not worth a line.
logging.getLogger("psycopg").setLevel(logging.ERROR)


@dataclass(frozen=True, slots=True)
class Opening:
    """What a transaction begins with.

    `check` gets how many rows each statement gave, -1 if that is not known, and raises if the transaction must not go
    on.
    """

    statements: Sequence[Statement]
    check: Callable[[Sequence[int]], None]


class _Pipeline(psycopg.AsyncPipeline):
    """psycopg's pipeline, ended by its Sync alone.

    psycopg sends a Flush after it. For PostgreSQL this is another command, after which it waits for a Sync: the limit
    on how long a session may be idle in a transaction does not apply then.
    """

    def _exit_gen(self) -> PQGen[None]:
        self._enqueue_sync()
        first: psycopg.Error | None = None
        try:
            yield from self._communicate_gen()
        except psycopg.Error as error:
            first = error
        try:
            yield from self._fetch_gen(flush=False)
        except psycopg.Error as error:
            first = first or error  # after the first all others are that the pipeline was aborted
        if first is not None:
            raise first


class PipelinedConnection(psycopg.AsyncConnection[tuple[Any, ...]]):
    """psycopg's connection, whose transactions need fewer round trips."""

    opening: Opening | None = None
    """What goes with the next statement."""
    _begins_itself = False
    """Whether it has sent the BEGIN of this transaction: psycopg would wait for the answer to its own."""

    @asynccontextmanager
    async def together(self) -> AsyncIterator[None]:
        """Send what is executed in the block in one round trip. The results are there when it has ended."""
        self._pipeline = _Pipeline(self)
        async with self.pipeline():
            yield

    async def open(self) -> None:
        """Send the opening, if it waits, by itself."""
        if self.opening is not None:
            async with self._opened(self.opening):
                pass

    @asynccontextmanager
    async def _opened(self, opening: Opening) -> AsyncIterator[None]:
        """Send the opening together with what is executed in the block. The results are there when it has ended."""
        self.opening = None
        cursors: list[psycopg.AsyncCursor[tuple[Any, ...]]] = []
        begins = self.pgconn.transaction_status == TransactionStatus.IDLE
        if begins:
            await self.set_autocommit(True)
            self._begins_itself = True
        try:
            async with self.together():
                if begins:
                    await self.execute(b"BEGIN")
                for statement, values in opening.statements:
                    cursors.append(await self.execute(statement.query, values))
                yield
        except psycopg.Error:  # of a statement that was perhaps never to be tried
            opening.check([cursor.rowcount for cursor in cursors])
            raise
        opening.check([cursor.rowcount for cursor in cursors])

    async def commit_with(self, statements: Sequence[Statement]) -> None:
        """Execute these as the last ones of the transaction, and commit it."""
        await self.open()
        if statements:
            async with self.together():
                for statement, values in statements:
                    await self.execute(statement.query, values)
                await self.execute(b"COMMIT")
        else:
            await self.commit()
        await self._is_over()

    async def rollback(self) -> None:
        """Roll back, and forget an opening that was not sent."""
        self.opening = None
        await super().rollback()
        await self._is_over()

    async def _is_over(self) -> None:
        if self._begins_itself:
            self._begins_itself = False
            await self.set_autocommit(False)


class Cursor(psycopg.AsyncCursor[tuple[Any, ...]]):
    """psycopg's cursor. The first statement of a transaction takes its opening along."""

    async def execute(self, query: Query, params: Params | None = None, **options: Any) -> Self:
        """As in psycopg; raises also what the check of the opening raises."""
        connection = cast(PipelinedConnection, self.connection)
        if (opening := connection.opening) is None:
            return await super().execute(cast(QueryNoTemplate, query), params, **options)
        async with connection._opened(opening):
            await super().execute(cast(QueryNoTemplate, query), params, **options)
        return self

    async def executemany(self, query: Query, params_seq: Any, **options: Any) -> None:
        """As in psycopg; the opening goes first, in a round trip of its own."""
        await cast(PipelinedConnection, self.connection).open()
        await super().executemany(query, params_seq, **options)
