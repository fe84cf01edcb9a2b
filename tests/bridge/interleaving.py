"""Two transactions, call by call, in a given order: on the real server with two sessions, and on the model.

A script is a coroutine that asks for one call of `dao/` after the other. Who is blocked by a lock loses its turns until
the lock is given back, as it would anywhere; the other goes on meanwhile.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Generator, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, suppress
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Protocol

from dao.postgres.database import Database
from dao.postgres.pool import AsyncConnection
from dao.postgres.sql import Sql
from model.errors import ShoalError
from tests.bridge.rows import Moments, plain
from tests.bridge.two_stores import UNORDERED, outcome_of
from tests.simulation.server import Server
from tests.simulation.tables import Blocked, Transaction
from tests.simulation.wiring import models

BLOCKED = object()
_WAITS = Sql("SELECT :other = ANY(pg_blocking_pids(:pid))")
_LOOK_EVERY_S = 0.004
_NEVER = Moments()
"""Without any end of a call: whatever a clock says is the same to it."""


@dataclass(frozen=True, slots=True)
class Request:
    """One call; `model` stands for `real` if that is not the function of the same name."""

    real: Callable[..., Awaitable[Any]] | None
    args: tuple[Any, ...] = ()
    model: Callable[..., Any] | None = None

    @property
    def name(self) -> str:
        return "COMMIT" if self.real is None else self.real.__name__.lstrip("_")


class _Call:
    def __init__(self, request: Request) -> None:
        self._request = request

    def __await__(self) -> Generator[Request, Any, Any]:
        return (yield self._request)


def call(function: Callable[..., Awaitable[Any]], *args: Any, model: Callable[..., Any] | None = None) -> _Call:
    """A step of a script: call this, and wait for the answer."""
    return _Call(Request(function, args, model))


def commit() -> _Call:
    """A step of a script: commit, and continue in another transaction. A script commits at its end by itself."""
    return _Call(Request(None))


Script = Callable[[], Coroutine[Any, Any, None]]


class Session(Protocol):
    """One side in one store. A call answers, raises, or is blocked and repeated."""

    async def perform(self, request: Request) -> Any: ...
    async def again(self) -> Any: ...
    async def end(self, *, commits: bool) -> Any: ...


class Side:
    """A script at work."""

    def __init__(self, name: str, script: Script, session: Session, *, aborts: bool) -> None:
        self.name = name
        self.is_over = False
        self.is_blocked = False
        self.steps = 0
        self._coroutine = script()
        self._session = session
        self._aborts = aborts
        self._request: Request | None = self._coroutine.send(None)

    async def step(self) -> str:
        """The next call, or the end; what came of it."""
        self.steps += 1
        request = self._request
        if request is None:
            answer = await self._session.end(commits=not self._aborts)
            self.is_over = True
            return f"{self.name} {'rolls back' if self._aborts else 'COMMIT'}{_error(answer)}"
        if request.real is None:
            return self._went_on(await self._session.end(commits=True))
        return self._went_on(await self._session.perform(request))

    async def again(self) -> str:
        """Whether the lock has been given back."""
        return self._went_on(await self._session.again())

    async def close(self) -> None:
        self._coroutine.close()
        if not self.is_over:
            await self._session.end(commits=False)

    def _went_on(self, answer: Any) -> str:
        assert self._request is not None
        told = f"{self.name} {self._request.name}"
        was_blocked, self.is_blocked = self.is_blocked, answer is BLOCKED
        if self.is_blocked:
            return "" if was_blocked else f"{told} waits"
        if not isinstance(answer, Exception):
            told += f" = {_shown(self._request, answer)}"
        try:
            self._request = (
                self._coroutine.throw(answer) if isinstance(answer, Exception) else self._coroutine.send(answer)
            )
        except StopIteration:
            self._request = None
        except ShoalError:
            self._request, self._aborts = None, True
            told += f" raises {type(answer).__name__}"
        return told


def _shown(request: Request, answer: Any) -> str:
    shown = plain(answer, _NEVER)
    name = f"{getattr(request.real, '__module__', '')}.{request.name}"
    return str(sorted(shown, key=str) if name in UNORDERED and isinstance(shown, list) else shown)


def _error(answer: Any) -> str:
    return f" raises {type(answer).__name__}" if isinstance(answer, Exception) else ""


class Deadlock(Exception):
    """Both wait for each other."""


async def play(order: Sequence[int], sides: Sequence[Side], *, may_deadlock: bool = False) -> list[str]:
    """Play the steps and return what happened, a line a step. Raises `Deadlock` unless the server should end it."""
    told: list[str] = []
    try:
        for turn in _turns(order, sides):
            side = sides[turn]
            if side.is_over or side.is_blocked:
                continue
            told.append(await side.step())
            other = sides[1 - turn]
            if other.is_blocked:
                told.append(await other.again())
            if all(each.is_over or each.is_blocked for each in sides) and any(each.is_blocked for each in sides):
                if not may_deadlock:
                    raise Deadlock("\n".join(told))
                while all(each.is_blocked for each in sides):
                    told += [await each.again() for each in sides if each.is_blocked]
    finally:
        for side in sides:
            await side.close()
    return [line for line in told if line]


def _turns(order: Sequence[int], sides: Sequence[Side]) -> Iterator[int]:
    """The turns as ordered, then the remaining ones."""
    yield from order
    while not all(side.is_over for side in sides):
        yield from range(len(sides))


def orders(first: int, second: int) -> Iterator[tuple[int, ...]]:
    """All interleavings of this many steps of the two sides."""
    for places in combinations(range(first + second), first):
        yield tuple(0 if place in places else 1 for place in range(first + second))


# ------------------------------------------------------------------------------------------------ the two stores


class RealSession:
    """A session on the server, which tells whether it waits for a lock."""

    def __init__(self, database: Database, watching: AsyncConnection) -> None:
        self._database = database
        self._watching = watching
        self._transaction: AbstractAsyncContextManager[AsyncConnection] | None = None
        self._connection: AsyncConnection
        self._pid = 0
        self.other = self
        """For whose locks it may wait; whoever else holds one will soon give it back."""
        self._running: asyncio.Task[Any] | None = None

    async def perform(self, request: Request) -> Any:
        if self._transaction is None:
            self._transaction = self._database.writing()
            self._connection = await self._transaction.__aenter__()
            self._pid = self._connection.driver.info.backend_pid
        assert request.real is not None
        self._running = asyncio.ensure_future(outcome_of(request.real, self._connection, *request.args))
        return await self.again()

    async def again(self) -> Any:
        assert self._running is not None
        while True:
            done, _ = await asyncio.wait({self._running}, timeout=_LOOK_EVERY_S)
            if done:
                return self._running.result()
            pids = {"pid": self._pid, "other": self.other._pid}
            if (await self._watching.execute(_WAITS, pids)).scalar_one():
                return BLOCKED

    async def end(self, *, commits: bool) -> Any:
        if self._running is not None and not self._running.done():
            self._running.cancel()
            with suppress(asyncio.CancelledError):
                await self._running
        transaction, self._transaction = self._transaction, None
        if transaction is None:
            return None
        try:
            if commits:
                await transaction.__aexit__(None, None, None)
            else:
                await transaction.__aexit__(_RollBack, _RollBack(), None)
        except _RollBack:
            return None
        except ShoalError as error:
            return error
        return None


class _RollBack(Exception):
    """Ends a transaction without a commit."""


class ModelSession:
    """On the model."""

    def __init__(self, server: Server) -> None:
        self._tx = Transaction(server)
        self._request: Request

    async def perform(self, request: Request) -> Any:
        self._request = request
        return await self.again()

    async def again(self) -> Any:
        assert self._request.real is not None
        name = f"{self._request.real.__module__}.{self._request.real.__name__}"
        try:
            return self._tx.perform(self._request.model or models()[name], self._request.args, {})
        except Blocked:
            return BLOCKED
        except ShoalError as error:
            return error

    async def end(self, *, commits: bool) -> Any:
        if commits:
            self._tx.install()
        else:
            self._tx.roll_back()
        self._tx = Transaction(self._tx.server)
