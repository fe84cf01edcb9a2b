"""Connections to a server: one that sends nothing, or sends slowly, does not take another client's place.

A TLS handshake, a head and a body must arrive within their times. Where there are more connections than may be, the one
without a request that has been there longest is closed. When all have requests, those of further ones are told so;
those of load balancers for the health of the process are answered all the same.
"""

from __future__ import annotations

import asyncio
import ssl
from asyncio.sslproto import SSLProtocol
from contextlib import suppress
from email.utils import formatdate
from itertools import chain, islice

import h11
from uvicorn.config import Config
from uvicorn.protocols.http.flow_control import CLOSE_HEADER
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import ServerState

from http_server.asgi import App, Receive, Scope, Send, answer
from http_server.limits import Limits


class Line(dict["Connection", asyncio.Transport]):
    """The connections of one server, oldest first, each with what sends its bytes.

    Args:
        limits: of the server.
        full: answers those whose request finds all connections in use.
    """

    def __init__(self, limits: Limits, full: App) -> None:
        super().__init__()
        self.limits = limits
        self.full = full

    def enter(self, connection: Connection, transport: asyncio.Transport) -> None:
        """Give it a place, and make room for it."""
        for silent in self._silent(len(self) + 1 - self.limits.connections):
            self.end(silent)
        self[connection] = transport

    def end(self, connection: Connection) -> None:
        """Close it. Its place is free at once, not when the loop says that it is lost: the next one that is accepted in
        the same turn needs another place."""
        transport = self[connection]
        connection.leave()
        transport.abort()

    def admits(self, path: str) -> bool:
        """Whether a request is answered by the application."""
        surplus = len(self) - self.limits.connections
        if surplus <= 0 or path in self.limits.always:
            return True
        # Those that came while all had requests, and have none now. They end only if that is enough.
        silent = self._silent(surplus)
        if len(silent) < surplus:
            return False
        for each in silent:
            self.end(each)
        return True

    def _silent(self, count: int) -> list[Connection]:
        """The oldest ones without a request, at most so many. Those whose answer is on its way are the last of them."""
        idle = (each for each, sent_by in self.items() if each.is_silent and not sent_by.get_write_buffer_size())
        answered = (each for each, sent_by in self.items() if each.is_silent and sent_by.get_write_buffer_size())
        return list(islice(chain(idle, answered), max(count, 0)))


class Connection(H11Protocol):
    """One connection.

    Args:
        config: uvicorn's; loaded.
        state: of all connections of the server.
        line: all of them.
    """

    def __init__(self, config: Config, state: ServerState, line: Line) -> None:
        super().__init__(config, state, app_state={})
        self._line = line
        self._serve, self.app = self.app, self._admit
        self._part: object = None
        self._part_timer: asyncio.TimerHandle | None = None
        self._whole_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start the timer of its first head."""
        super().connection_made(transport)
        if self not in self._line:
            self.enter(transport)
        self._watch()

    def enter(self, transport: asyncio.Transport) -> None:
        """Take a place in the line, and start the timer of the whole connection."""
        self._line.enter(self, transport)
        if (seconds := self._line.limits.connection_s) is not None:
            self._whole_timer = self.loop.call_later(seconds, transport.abort)

    def leave(self) -> None:
        """Free its place, and stop its timers."""
        self._line.pop(self, None)
        self._stop_waiting()
        if self._whole_timer is not None:
            self._whole_timer.cancel()

    def connection_lost(self, exc: Exception | None) -> None:
        """Free its place."""
        self.leave()
        super().connection_lost(exc)

    def handle_events(self) -> None:
        """Handle what arrived, and wait for what is missing."""
        # uvicorn's server, which is not used, writes the time of answers (RFC 9110, 6.6.1) ten times a second.
        self.server_state.default_headers = [(b"date", formatdate(usegmt=True).encode())]
        try:
            super().handle_events()
        except h11.LocalProtocolError:  # what follows a head is wrong, and the answer has begun
            self.transport.abort()
        if self.conn.their_state is h11.ERROR and not self.is_silent:
            # uvicorn has answered it: to the application the client has gone, else its own answer would be an error.
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        self._watch()

    def on_response_complete(self) -> None:
        """Begin to wait for the next request."""
        super().on_response_complete()
        self._watch()

    def shutdown(self) -> None:
        """Close it, after the answer to its request."""
        if not self._has_asked:  # its TLS handshake may not have ended
            self._line.end(self)
            return
        with suppress(h11.LocalProtocolError):  # it is being closed after an error
            super().shutdown()

    @property
    def is_silent(self) -> bool:
        return not self._has_asked or bool(self.cycle.response_complete)

    @property
    def _has_asked(self) -> bool:
        return self.cycle is not None

    def _watch(self) -> None:
        """Start a timer when another part of a request is awaited than before; more bytes of the same do not."""
        state = self.conn.their_state
        idle = state is h11.IDLE and self.timeout_keep_alive_task is not None
        part = state if state in (h11.IDLE, h11.SEND_BODY) and not idle else None
        if self.transport.is_closing() or part is None:
            self._stop_waiting()
        elif part is not self._part:
            self._stop_waiting()
            self._part = part
            limits = self._line.limits
            seconds = limits.head_s if part is h11.IDLE else limits.body_s
            self._part_timer = self.loop.call_later(seconds, self.transport.abort)

    def _stop_waiting(self) -> None:
        self._part = None
        if self._part_timer is not None:
            self._part_timer.cancel()
            self._part_timer = None

    async def _admit(self, scope: Scope, receive: Receive, send: Send) -> None:
        """The application, unless the head is too long or there are too many connections."""
        limits, app = self._line.limits, self._serve
        # h11 limits what it keeps of a head that has not arrived; one that comes at once may be longer.
        if _head_bytes(scope) > limits.head_bytes:
            app = self._too_long
        elif not self._line.admits(scope["path"]):
            app = self._line.full
        if limits.one_request or app is not self._serve:
            # As if the client had asked for it: then uvicorn says it in the answer, and closes.
            scope["headers"].append(CLOSE_HEADER)
        await app(scope, receive, send)

    async def _too_long(self, _scope: Scope, _receive: Receive, send: Send) -> None:
        await answer(send, 431, f"the head of a request has at most {self._line.limits.head_bytes} bytes\n")


class TlsConnection(SSLProtocol):
    """The TLS of one connection. It has its place in the line before the handshake: otherwise a client that sends
    nothing is not counted, and has the 60 seconds that asyncio gives a handshake."""

    def __init__(self, inner: Connection, context: ssl.SSLContext, handshake_s: float) -> None:
        # None: nobody waits for the handshake. It ends the connection itself when its time is over.
        super().__init__(
            inner.loop,
            inner,
            context,
            None,  # type: ignore[arg-type]
            server_side=True,
            ssl_handshake_timeout=handshake_s,  # type: ignore[arg-type]
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


def _head_bytes(scope: Scope) -> int:
    """Without the version of HTTP."""
    line = len(scope["method"]) + len(scope["raw_path"]) + len(scope["query_string"])
    return line + sum(len(name) + len(value) + len(b": \r\n") for name, value in scope["headers"])
