"""Requests of one kind that are handled together: those that come while a batch is under way are the next batch.

Each transaction costs round trips and a wait for the disk, however much it does. Alone a request waits for nobody; the
more there are at once, the larger the batches, and the less each one costs. Each request gets its own answer or error.
A few batches may be under way beside one that is slow.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from contextvars import Context
from typing import Any, Generic, TypeVar

from dao.postgres import errors

Request = TypeVar("Request")
Answer = TypeVar("Answer")
Handler = Callable[[Sequence[Request]], Awaitable[Sequence[Answer | Exception]]]
"""Handles some requests at once: the answer to each, or its error, in the same order. An error that it raises is that
of all of them. After `BadData` nothing may have been written."""

BATCH_MAX = 64


SLOW_S = 0.25
"""A batch that is under way for this long does not keep the next one waiting: its connection may be dead."""
AT_ONCE_MAX = 3
"""Batches of one handler, all but one of them slow."""


class Batches:
    """The batches of one process, one at a time for each handler, and beside slow ones."""

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
        self._running: set[asyncio.Task[None]] = set()
        self._prompt: asyncio.Task[None] | None = None
        """The one that takes the next batch. It is not, while its batch is slow."""

    async def ask(self, request: Request) -> Answer:
        future: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._waiting.append((request, future))
        self._begin()
        return await future

    def _begin(self) -> None:
        """Begin with the batches, unless somebody takes them or too many are slow."""
        if self._waiting and self._prompt is None and len(self._running) < AT_ONCE_MAX:
            # Without the context of the first caller, whose request id would stand in the log lines of all.
            self._prompt = asyncio.create_task(self._run(), context=Context())
            self._running.add(self._prompt)
            self._prompt.add_done_callback(self._end)

    def _end(self, task: asyncio.Task[None]) -> None:
        self._running.discard(task)
        if self._prompt is task:
            self._prompt = None
        if not task.cancelled():
            self._begin()

    def _leave(self) -> None:
        """Let another one take the next batch: this one is slow."""
        self._prompt = None
        self._begin()

    async def _run(self) -> None:
        task = asyncio.current_task()
        while self._waiting and self._prompt is task:
            batch: list[tuple[Request, asyncio.Future[Answer]]] = []
            while self._waiting and len(batch) < BATCH_MAX:
                request, future = self._waiting.popleft()
                if not future.done():  # else its caller has gone
                    batch.append((request, future))
            timer = asyncio.get_running_loop().call_later(SLOW_S, self._leave)
            try:
                if batch:
                    await self._handle(batch)
            finally:
                timer.cancel()
                for _, future in batch:
                    future.cancel()  # only where this task was cancelled

    async def _handle(self, batch: Sequence[tuple[Request, asyncio.Future[Answer]]]) -> None:
        outcomes: Sequence[Answer | Exception]
        try:
            outcomes = await self._handler([request for request, _ in batch])
        except errors.BadData as error:
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
