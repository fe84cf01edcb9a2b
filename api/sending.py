"""Answers that are sent in parts, for as long as their reader reads, and may read."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Protocol

import structlog
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from api import problems
from http_server.asgi import STALLED_S_MAX
from model.errors import ShoalError
from service import error_codes as kinds

log = structlog.get_logger()

PART_BYTES = 1 << 16
ASK_AGAIN_S = 30
CHECK_EVERY_S = 3.0
"""With the time of the check itself, a right that was taken away ends an answer within five seconds."""


class Closed(Protocol):
    """What an answer is made of."""

    async def aclose(self) -> None:
        """Close what it has open."""


class SentInParts(Response):
    """An answer that is sent while it is made.

    It ends early, with a log line, when `check` raises an error (it is called every few seconds), when the parts do,
    and when the reader took nothing for 30 seconds; then the connection is closed before the answer is complete, so
    that a reader knows. One of the parts, and what the connection buffers, is in memory.

    Args:
        source: of the parts; closed at the end.
        parts: the body.
        headers: with its type; without Content-Length the answer is sent in chunks.
        check: raises a `ShoalError` once the reader may no longer read.
        place: counts it while it is sent, and yields why it may not be: then that is the answer. None: it is short.
    """

    def __init__(
        self,
        source: Closed,
        parts: AsyncGenerator[bytes],
        headers: Mapping[str, str],
        check: Callable[[], Awaitable[object]],
        *,
        place: AbstractContextManager[str | None] | None = None,
        status: int = 200,
    ) -> None:
        self._source = source
        self._parts = parts
        self._check = check
        self._place = place or nullcontext()
        self.status_code = status
        self.background = None
        self.init_headers(headers)  # none of them is Content-Length: there is no body

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            with self._place as why_not:
                if why_not is None:
                    await self._send_all(scope, receive, send)
                else:
                    again = {"Retry-After": str(ASK_AGAIN_S)}
                    request_id = scope["state"]["request_id"]
                    answer = problems.problem(kinds.TOO_MANY_STREAMS, why_not, request_id, headers=again)
                    await answer(scope, receive, send)
        finally:
            await self._parts.aclose()
            await self._source.aclose()

    async def _send_all(self, scope: Scope, receive: Receive, send: Send) -> None:
        ends: list[asyncio.Task[str | None]] = [
            asyncio.create_task(self._send(send)),
            asyncio.create_task(_disconnect(receive)),
            asyncio.create_task(self._refusal()),
        ]
        try:
            await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
            for end in ends:
                if end.done() and (why := end.result()) is not None:
                    log.warning("stream_ended", path=scope["path"], client=(scope.get("client") or ("-",))[0], why=why)
        finally:
            for end in ends:
                end.cancel()
            await asyncio.wait(ends)

    async def _send(self, send: Send) -> str | None:
        """Send everything; otherwise say why not."""
        try:
            await _put(send, type="http.response.start", status=self.status_code, headers=self.raw_headers)
            async for part in self._parts:
                for at in range(0, len(part), PART_BYTES):
                    await _put(send, type="http.response.body", body=part[at : at + PART_BYTES], more_body=True)
            await _put(send, type="http.response.body", body=b"", more_body=False)
        except ShoalError as error:
            return str(error)
        except TimeoutError:
            return f"its reader took nothing for {STALLED_S_MAX:g} s"
        return None

    async def _refusal(self) -> str:
        """Why the reader may no longer read."""
        while True:
            await asyncio.sleep(CHECK_EVERY_S)
            try:
                await self._check()
            except ShoalError as error:
                return str(error)


async def _put(send: Send, **message: Any) -> None:
    async with asyncio.timeout(STALLED_S_MAX):
        await send(message)


async def _disconnect(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
