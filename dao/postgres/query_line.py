"""One database connection that answers in time or is closed; it is made again by the next request."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, LiteralString

from dao.postgres.connection import Connection
from dao.postgres.database import connect
from dao.postgres.errors import translating
from model.errors import Unavailable


class _NoAnswer(Unavailable):
    """The server took too long: an immediate retry would only take twice as long."""


class QueryLine:
    """Runs single statements, one after the other, each in a separate transaction.

    Args:
        url: the database, in SQLAlchemy's form.
        application_name: the name of the connection in the database.
        answer_within_s: the longest wait for an answer, a new connection included.
    """

    def __init__(self, url: str, application_name: str, answer_within_s: float) -> None:
        self._url = url
        self._application_name = application_name
        self._answer_within_s = answer_within_s
        self._connection: Connection | None = None
        self._lock = asyncio.Lock()

    async def ask(self, statement: LiteralString, parameters: Mapping[str, object] = {}) -> list[tuple[Any, ...]]:
        """Run an *idempotent* statement: if an older connection turns out to be dead, it is sent again on a new one.

        Raises:
            Unavailable: no answer in time; the statement may have run nevertheless.
            BadData: the database refused the data.
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
        connection, self._connection = self._connection, None
        if connection is not None:
            await connection.close()

    async def _in_time(self, statement: LiteralString, parameters: Mapping[str, object]) -> list[tuple[Any, ...]]:
        try:
            async with asyncio.timeout(self._answer_within_s):
                return await self._run(statement, parameters)
        except TimeoutError:
            raise _NoAnswer(f"the database gave no answer within {self._answer_within_s:g} s") from None

    async def _run(self, statement: LiteralString, parameters: Mapping[str, object]) -> list[tuple[Any, ...]]:
        if self._connection is None:
            self._connection = await connect(self._url, self._application_name, self._answer_within_s)
        connection = self._connection
        sound = False
        try:
            with translating():
                cursor = await connection.execute(statement, parameters)
                rows = await cursor.fetchall() if cursor.description else []
            sound = True
            return rows
        finally:
            if not sound and (connection.broken or connection.closed):
                self._connection = None
