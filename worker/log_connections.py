"""Connections to the log service: idle ones are closed, so that they do not take another client's place."""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

REQUEST_S_MAX = 5.0
"""Seconds within which the whole request must have arrived."""
CONNECTION_S_MAX = 30.0
"""Within which the answer must have been sent; a connection has one."""
CONNECTIONS_MAX = 100


class LogConnection(H11Protocol):
    """One connection. If there are too many, the one that has been silent longest is closed.

    Args:
        line: all connections of the service, oldest first.
    """

    def __init__(self, *given: Any, line: dict[LogConnection, None], **named: Any) -> None:
        super().__init__(*given, **named)
        self._line = line
        self._timers: list[asyncio.TimerHandle] = []

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start its timer."""
        super().connection_made(transport)
        if len(self._line) >= CONNECTIONS_MAX:
            next((each for each in self._line if each.is_silent), self).transport.abort()
        self._line[self] = None
        self._timers = [
            self.loop.call_later(REQUEST_S_MAX, self._end_silence),
            self.loop.call_later(CONNECTION_S_MAX, transport.abort),
        ]

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop its timer."""
        self._line.pop(self, None)
        for timer in self._timers:
            timer.cancel()
        super().connection_lost(exc)

    @property
    def is_silent(self) -> bool:
        """Whether it has no request."""
        return self.cycle is None

    def _end_silence(self) -> None:
        if self.is_silent:
            self.transport.abort()
