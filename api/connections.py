"""Connections to the API: one that sends nothing, or sends slowly, does not take another client's place.

A TLS handshake must end and a head arrive within 10 seconds each, a body within 60; a connection without a request is
closed after 30, and where there are more than may be, the one without a request that has been there longest. When all
have requests, requests of further ones are answered 503; those of load balancers for the health of the process are
answered all the same.
"""

from __future__ import annotations

import asyncio
import secrets
import ssl
from asyncio.sslproto import SSLProtocol
from itertools import islice
from typing import Any

import h11
from starlette.types import Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from api import problems
from service import problems as kinds

HEAD_S_MAX = 10.0
"""Seconds within which a head must have arrived: after the connection was made, or after its first byte."""
BODY_S_MAX = 60.0
"""The same for the whole body, after its head."""
HEALTH = ("/healthz", "/readyz")


class ApiConnection(H11Protocol):
    """One connection.

    Args:
        line: all connections of the server with what sends their bytes, oldest first.
        connections_max: how many there may be.
        root_path: the path below which a proxy serves the API.
    """

    def __init__(
        self,
        *given: Any,
        line: dict[ApiConnection, asyncio.Transport],
        connections_max: int,
        root_path: str,
        **named: Any,
    ) -> None:
        super().__init__(*given, **named)
        self._line = line
        self._connections_max = connections_max
        self._below = root_path
        self._serve, self.app = self.app, self._admit
        self._part: object = None
        self._timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start the timer of its first head."""
        super().connection_made(transport)
        if self not in self._line:
            self.enter(transport)
        self._watch()

    def enter(self, transport: asyncio.Transport) -> None:
        """Take a place in the line, and make room for it."""
        for silent in self._silent(len(self._line) + 1 - self._connections_max):
            silent._make_room()
        self._line[self] = transport

    def leave(self) -> None:
        """Free its place."""
        self._line.pop(self, None)

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop its timer."""
        self.leave()
        self._stop_timer()
        super().connection_lost(exc)

    def handle_events(self) -> None:
        """Handle what arrived, and wait for what is missing."""
        super().handle_events()
        self._watch()

    def on_response_complete(self) -> None:
        """Begin to wait for the next request."""
        super().on_response_complete()
        self._watch()

    @property
    def is_silent(self) -> bool:
        """Whether it has no request."""
        return self.cycle is None or bool(self.cycle.response_complete)

    def _silent(self, count: int) -> list[ApiConnection]:
        """The oldest ones without a request, at most so many."""
        return list(islice((each for each in self._line if each.is_silent), max(count, 0)))

    def _make_room(self) -> None:
        """Close it. Its place is free at once, not when the loop says that it is lost: the next one that is accepted in
        the same turn needs another place."""
        transport = self._line.pop(self)
        self._stop_timer()
        transport.abort()

    def _watch(self) -> None:
        """Start a timer when another part of a request is awaited than before; more bytes of the same do not."""
        state = self.conn.their_state
        idle = state is h11.IDLE and self.timeout_keep_alive_task is not None
        part = state if state in (h11.IDLE, h11.SEND_BODY) and not idle else None
        if self.transport.is_closing() or part is None:
            self._stop_timer()
        elif part is not self._part:
            self._stop_timer()
            self._part = part
            self._timer = self.loop.call_later(HEAD_S_MAX if part is h11.IDLE else BODY_S_MAX, self.transport.abort)

    def _stop_timer(self) -> None:
        self._part = None
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    async def _admit(self, scope: Scope, receive: Receive, send: Send) -> None:
        """The application, unless there are too many connections."""
        surplus = len(self._line) - self._connections_max
        if surplus <= 0 or scope["path"].removeprefix(self._below) in HEALTH:
            await self._serve(scope, receive, send)
            return
        # Those that came while all had requests, and have none now. They end only if that is enough.
        if len(silent := self._silent(surplus)) == surplus:
            for each in silent:
                each._make_room()
            await self._serve(scope, receive, send)
            return
        said = f"all {self._connections_max} connections are in use; ask again, or raise api.connections_max"
        answer = problems.problem(kinds.UNAVAILABLE, said, secrets.token_hex(8), headers={"Connection": "close"})
        await answer(scope, receive, send)


class TlsConnection(SSLProtocol):
    """The TLS of one connection. It has its place in the line before the handshake: otherwise a client that sends
    nothing is not counted, and has the 60 seconds that asyncio gives a handshake."""

    def __init__(self, inner: ApiConnection, context: ssl.SSLContext) -> None:
        # None: nobody waits for the handshake. It ends the connection itself when its time is over.
        super().__init__(
            inner.loop,
            inner,
            context,
            None,  # type: ignore[arg-type]
            server_side=True,
            ssl_handshake_timeout=HEAD_S_MAX,  # type: ignore[arg-type]
        )
        self._inner = inner

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Take a place, and begin the handshake."""
        assert isinstance(transport, asyncio.Transport)
        self._inner.enter(transport)
        super().connection_made(transport)

    def connection_lost(self, exc: BaseException | None) -> None:
        """Free the place: before the handshake its inner connection does not hear of it."""
        super().connection_lost(exc)
        self._inner.leave()
