"""A connection to PostgreSQL that answers in time or is closed.

A link can die silently: a proxy, a load balancer or a firewall still acknowledges what it receives, but forwards
nothing. Then neither keep-alives nor the server's own time-outs end the wait. So each wait for an answer has a deadline
on our side. When it passes, the socket is closed at once, without a request to the server, since that would wait for
the same dead link. The same happens when the waiting task is cancelled; psycopg would first ask the server to cancel
the statement, for up to ten seconds (psycopg/psycopg#1371). The server's time-outs end the statement there.
"""

from __future__ import annotations

import asyncio
import traceback
from collections.abc import Awaitable
from typing import Any, Self, TypeVar

import psycopg
from psycopg import errors, waiting
from psycopg.abc import PQGen

from dao.postgres import reserved_descriptors
from model.means import is_passing

CONNECT_S_MAX = 5.0
"""The longest time to make a connection: name resolution, TCP, TLS, login, and all addresses of the server."""

_Answer = TypeVar("_Answer")
_Made = TypeVar("_Made")
_CHECK_EVERY_S = 0.1
"""psycopg's default: how often it lets signals through while it waits."""


class NoAnswer(psycopg.OperationalError):
    """The server did not answer in time. The statement may have run."""


async def _connected(connecting: Awaitable[_Made]) -> _Made:
    """What it gives. When it is cancelled, the connection that it has begun is closed at once.

    psycopg leaves that to garbage collection, since the traceback refers to it. Until then the server could go on
    with the login, and keep a session that nobody uses.
    """
    try:
        return await connecting
    except asyncio.CancelledError as cancelled:
        traceback.clear_frames(cancelled.__traceback__)
        raise


class Connection(psycopg.AsyncConnection[tuple[Any, ...]]):
    """psycopg's connection, with a limit on each wait."""

    answer_within_s: float | None = None
    """The longest wait for one answer; None = no limit, for schema scripts only."""

    @classmethod
    async def connect_within(cls, conninfo: str = "", *, answer_within_s: float, **settings: Any) -> Self:
        """A new connection. Raises `psycopg.Error`."""
        within_s = min(CONNECT_S_MAX, answer_within_s)
        try:
            with reserved_descriptors.lent():
                async with asyncio.timeout(within_s):
                    connection = await _connected(cls.connect(conninfo, **settings))
        except TimeoutError:
            raise NoAnswer(f"no connection within {within_s:g} s") from None
        except (OSError, RuntimeError, MemoryError) as error:
            if not is_passing(error):
                raise
            raise NoAnswer(f"no connection can be made now: {error}") from error
        connection.answer_within_s = answer_within_s
        return connection

    async def wait(
        self, gen: PQGen[_Answer], interval: float = _CHECK_EVERY_S, timeout: float | None = None
    ) -> _Answer:
        """As in psycopg, where every operation calls this method. A `timeout` is the caller's own limit.

        Raises `NoAnswer` after `answer_within_s`; the connection is closed then.
        """
        if timeout is not None:
            return await super().wait(gen, interval, timeout)
        try:
            return await waiting.wait_async(gen, self.pgconn.socket, interval, self.answer_within_s)
        except errors._WaitTimeout:
            self.pgconn.finish()
            raise NoAnswer(f"no answer within {self.answer_within_s:g} s, the connection was closed") from None
        except (asyncio.CancelledError, KeyboardInterrupt):
            self.pgconn.finish()
            raise
