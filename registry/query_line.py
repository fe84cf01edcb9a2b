"""One database connection that answers in time or is thrown away, and is made anew when next asked."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, LiteralString

import psycopg

from dao.database import connect
from dao.errors import translating
from model.errors import Unavailable


class _NoAnswer(Unavailable):
    """The server took too long: asking again at once would only take twice as long."""


class QueryLine:
    """Runs single statements, each in a transaction of its own, one after the other.

    Args:
        url: the database, in SQLAlchemy's form.
        application_name: what the connection is called in the database.
        answer_within_s: the longest wait for an answer, a new connection included.
    """

    def __init__(self, url: str, application_name: str, answer_within_s: float) -> None:
        self._url = url
        self._application_name = application_name
        self._answer_within_s = answer_within_s
        self._connection: psycopg.AsyncConnection[tuple[Any, ...]] | None = None
        self._lock = asyncio.Lock()
        self._abandoned: set[asyncio.Task[Any]] = set()

    async def ask(self, statement: LiteralString, parameters: Mapping[str, object]) -> list[tuple[Any, ...]]:
        """Run an *idempotent* statement: if an older connection turns out to be dead it is sent again on a new one.

        Raises:
            Unavailable: no answer in time; the statement may have run all the same.
            dao.errors.BadData: the database refused what it was given.
        """
        async with self._lock:
            was_open = self._connection is not None
            try:
                return await self._in_time(statement, parameters)
            except _NoAnswer:
                raise
            except Unavailable:
                if not was_open or self._connection is not None:
                    raise
            return await self._in_time(statement, parameters)

    async def close(self) -> None:
        """Close the connection, if there is one."""
        connection, self._connection = self._connection, None
        if connection is not None:
            await connection.close()

    async def _in_time(self, statement: LiteralString, parameters: Mapping[str, object]) -> list[tuple[Any, ...]]:
        # A task of its own: on cancellation psycopg asks the server to stop the statement and waits up to ten seconds
        # for that, which a server that does not answer makes it do. Nobody has to wait with it.
        query = asyncio.create_task(self._run(statement, parameters))
        try:
            await asyncio.wait({query}, timeout=self._answer_within_s)
        finally:
            if not query.done():
                self._abandon(query)
        if query.done():
            return query.result()
        raise _NoAnswer(f"the database gave no answer within {self._answer_within_s:g} s")

    def _abandon(self, query: asyncio.Task[Any]) -> None:
        self._connection = None
        self._abandoned.add(query)
        query.add_done_callback(self._abandoned_ended)
        query.cancel()

    def _abandoned_ended(self, query: asyncio.Task[Any]) -> None:
        self._abandoned.discard(query)
        if not query.cancelled():
            query.exception()  # looked at, so that asyncio does not complain of it

    async def _run(self, statement: LiteralString, parameters: Mapping[str, object]) -> list[tuple[Any, ...]]:
        if self._connection is None:
            self._connection = await connect(self._url, self._application_name)
        connection = self._connection
        sound = False
        try:
            with translating():
                cursor = await connection.execute(statement, parameters)
                rows = await cursor.fetchall() if cursor.description else []
            sound = True
            return rows
        finally:
            if not sound and (connection.broken or connection.closed or self._connection is not connection):
                await connection.close()
                if self._connection is connection:
                    self._connection = None
