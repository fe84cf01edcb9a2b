"""Requests of one kind that are handled together: those that come while a batch is under way are the next batch.

Each transaction costs round trips and a wait for the disk, however much it does. Alone a request waits for nobody; the
more there are at once, the larger the batches, and the less each one costs. Each request gets its own answer or error.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from contextvars import Context
from typing import Any, Generic, TypeVar

from dao.postgres.errors import BadData

Request = TypeVar("Request")
Answer = TypeVar("Answer")
Handler = Callable[[Sequence[Request]], Awaitable[Sequence[Answer | Exception]]]
"""Handles some requests at once: the answer to each, or its error, in the same order. An error that it raises is that
of all of them. After `BadData` nothing may have been written."""

BATCH_MAX = 64


class Batches:
    """The batches of one process, one at a time for each handler."""

    def __init__(self) -> None:
        self._lines: dict[Any, _Line[Any, Any]] = {}

    async def ask(self, handler: Handler[Request, Answer], request: Request) -> Answer:
        """The answer of the batch to this request. It comes even if the other callers of the batch are cancelled.

        Raises what the handler answers or raises.
        """
        line: _Line[Request, Answer] | None = self._lines.get(handler)
        if line is None:
            line = self._lines[handler] = _Line(handler)
        return await line.ask(request)


class _Line(Generic[Request, Answer]):
    """The requests to one handler."""

    def __init__(self, handler: Handler[Request, Answer]) -> None:
        self._handler = handler
        self._waiting: deque[tuple[Request, asyncio.Future[Answer]]] = deque()
        self._running: asyncio.Task[None] | None = None

    async def ask(self, request: Request) -> Answer:
        future: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._waiting.append((request, future))
        if self._running is None or self._running.done():
            # Without the context of the first caller, whose request id would stand in the log lines of all.
            self._running = asyncio.create_task(self._run(), context=Context())
        return await future

    async def _run(self) -> None:
        while self._waiting:
            batch: list[tuple[Request, asyncio.Future[Answer]]] = []
            while self._waiting and len(batch) < BATCH_MAX:
                request, future = self._waiting.popleft()
                if not future.done():  # else its caller has gone
                    batch.append((request, future))
            try:
                if batch:
                    await self._handle(batch)
            finally:
                for _, future in batch:
                    future.cancel()  # only where this task was cancelled

    async def _handle(self, batch: Sequence[tuple[Request, asyncio.Future[Answer]]]) -> None:
        outcomes: Sequence[Answer | Exception]
        try:
            outcomes = await self._handler([request for request, _ in batch])
        except BadData as error:
            if half := len(batch) // 2:  # one of them is to blame, which must fail alone
                await self._handle(batch[:half])
                await self._handle(batch[half:])
                return
            outcomes = [error]
        except Exception as error:  # noqa: BLE001 - each caller gets it
            outcomes = [error] * len(batch)
        for (_, future), outcome in zip(batch, outcomes, strict=True):
            if future.done():
                continue
            if isinstance(outcome, Exception):
                future.set_exception(outcome)
            else:
                future.set_result(outcome)
