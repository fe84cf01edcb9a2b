"""A connection to PostgreSQL that answers in time or is thrown away.

A link can die without a word: a proxy, a load balancer or a firewall goes on acknowledging what it is sent, and passes
nothing on. Then neither keep-alives nor the server's own time-outs end the wait. So each wait for an answer has a
deadline of ours. When it passes, the socket is closed at once: nothing is asked of the other side, since that would
wait for the same dead link. So it is too when the one who waits is cancelled; psycopg would first ask the server to
stop the statement, for up to ten seconds (psycopg/psycopg#1371). The server ends what it was at by its time-outs.
"""

from __future__ import annotations

import asyncio
import traceback
from collections.abc import Awaitable
from typing import Any, Self, TypeVar

import psycopg
from psycopg import errors, waiting
from psycopg.abc import PQGen

from dao import reserve
from model.means import is_passing

CONNECT_S_MAX = 5.0
"""The longest time that making a connection may take: name, TCP, TLS, login, and all addresses of the server."""

_Answer = TypeVar("_Answer")
_Made = TypeVar("_Made")
_LOOK_EVERY_S = 0.1
"""psycopg's own: how often it lets signals through while it waits."""


class NoAnswer(psycopg.OperationalError):
    """The server said nothing in time. What it was asked may have happened."""


async def _connected(connecting: Awaitable[_Made]) -> _Made:
    """What it gives. When it is cancelled, the connection that it has begun is closed at once.

    psycopg leaves that to the collector of garbage, since the traceback holds it. Until then the server could go on
    with the login, and keep a session that nobody uses.
    """
    try:
        return await connecting
    except asyncio.CancelledError as cancelled:
        traceback.clear_frames(cancelled.__traceback__)
        raise


class Connection(psycopg.AsyncConnection[tuple[Any, ...]]):
    """psycopg's, with a limit to each wait."""

    answer_within_s: float | None = None
    """The longest wait for one answer; None = for ever, for scripts of the schema alone."""

    @classmethod
    async def connect_within(cls, conninfo: str = "", *, answer_within_s: float, **settings: Any) -> Self:
        """A new connection. Raises `psycopg.Error`."""
        within_s = min(CONNECT_S_MAX, answer_within_s)
        try:
            with reserve.lent():
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

    async def wait(self, gen: PQGen[_Answer], interval: float = _LOOK_EVERY_S, timeout: float | None = None) -> _Answer:
        """As in psycopg, where every operation goes through here. A `timeout` is the caller's own, and harmless.

        Raises `NoAnswer` once `answer_within_s` is over; the connection is closed then.
        """
        if timeout is not None:
            return await super().wait(gen, interval, timeout)
        try:
            return await waiting.wait_async(gen, self.pgconn.socket, interval, self.answer_within_s)
        except errors._WaitTimeout:
            self.pgconn.finish()
            raise NoAnswer(f"no answer within {self.answer_within_s:g} s, the connection was given up") from None
        except (asyncio.CancelledError, KeyboardInterrupt):
            self.pgconn.finish()
            raise
