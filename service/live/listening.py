"""One listener: the events that wait for it, as an asynchronous iterator."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Hashable, Iterable

import structlog

from service.live.ring import EVERYBODY, PING, Event

log = structlog.get_logger()

WAITING_MAX = 1_000
BYTES_MAX = 4_000_000
"""A listener for which more waits no longer reads. Events are shared, so this is not what each one costs."""
PING_S = 15.0


class Listening:
    """Iterate over it for the events of its topics. It ends when it is closed, or when the hub ends it.

    Args:
        topics: checked.
        allowed: the projects that it may see; None = all.
        caller: who listens, for the recheck of rights; None = it is never rechecked.
    """

    def __init__(self, topics: frozenset[str], allowed: frozenset[str] | None, caller: Hashable | None) -> None:
        self.topics = topics
        self.allowed = allowed
        self.caller = caller
        self.ended: str | None = None
        """Why the hub ended it; None = it did not."""
        self._waiting: deque[Event] = deque()
        self._bytes = 0
        self._wake = asyncio.Event()

    def offer(self, events: Iterable[Event]) -> None:
        """Add those of these events that it watches and may see. Ends it if it does not read."""
        if self.ended is not None:
            return
        for event in events:
            if self._sees(event):
                self._waiting.append(event)
                self._bytes += len(event.wire)
                self._wake.set()
        if len(self._waiting) > WAITING_MAX or self._bytes > BYTES_MAX:
            log.warning("live_listener_dropped", waiting=len(self._waiting), bytes=self._bytes, so="it does not read")
            self.end("it did not read")

    def end(self, why: str) -> None:
        """End it at once; what waits is not delivered."""
        self.ended = why
        self._waiting.clear()
        self._wake.set()

    def __aiter__(self) -> Listening:
        return self

    async def __anext__(self) -> Event:
        while self.ended is None:
            while self._waiting:
                event = self._waiting.popleft()
                self._bytes -= len(event.wire)
                if self._sees(event):  # its rights may have changed since
                    return event
            self._wake.clear()
            try:
                async with asyncio.timeout(PING_S):
                    await self._wake.wait()
            except TimeoutError:
                return PING
        raise StopAsyncIteration

    def _sees(self, event: Event) -> bool:
        if event.topic and event.topic not in self.topics:
            return False
        return event.project == EVERYBODY or self.allowed is None or event.project in self.allowed
