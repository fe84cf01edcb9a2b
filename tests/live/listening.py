"""A hub that runs, and what a listener has got so far."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import Any, TypeVar

from dao.postgres.database import Database
from service.live.hub import Hub
from service.live.listening import Listening
from service.live.ring import Event
from tests.eventually import eventually

LISTENS = "SELECT pid FROM pg_stat_activity WHERE application_name = 'shoal-test-api-live'"


@asynccontextmanager
async def running(hub: Hub, database: Database) -> AsyncIterator[Hub]:
    """Run the hub within the block, already listening."""
    task = asyncio.create_task(hub.run())
    try:
        with hub.listen(["queue"]) as first, heard(first) as got:
            await eventually(lambda: "resync" in got.kinds)  # the first connection
        yield hub
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


class Heard:
    """The events that a listener has got."""

    def __init__(self, listening: Listening) -> None:
        self.events: list[Event] = []
        self.listening = listening

    @property
    def kinds(self) -> list[str]:
        return [event.kind for event in self.events]

    def of(self, kind: str) -> list[dict[str, Any]]:
        return [json.loads(event.data) for event in self.events if event.kind == kind]

    def of_text(self, kind: str) -> str:
        return "".join(event.data for event in self.events if event.kind == kind)

    async def read(self) -> None:
        async for event in self.listening:
            self.events.append(event)


_H = TypeVar("_H", bound=Heard)


@contextmanager
def heard(listening: Listening, as_: type[_H] = Heard) -> Iterator[_H]:  # type: ignore[assignment]
    """Reads it for the block."""
    got = as_(listening)
    task = asyncio.create_task(got.read())
    try:
        yield got
    finally:
        task.cancel()
