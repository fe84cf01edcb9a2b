"""Requests whose cost grows with their size are handled in processes of their own, within a budget of processor time.

An API answers everybody from one loop. A file of half a megabyte takes seconds to parse, and a thread would take that
time from the loop as well. So a request is *heavy* if its body has more than `LIGHT_BYTES_MAX` bytes, or if what it has
to read costs more than `LIGHT_US_MAX` (`model/cost.py`). The API finds out who sends it; then another process handles
it from the start (`heavy_process.py`). An account has one in work at a time, so it cannot take all processes. One that
uses up its processor time is ended with its process, and answered 413.
"""

from __future__ import annotations

import asyncio
import signal
import sys
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress

import structlog
from fastapi import Request, Response

from api import problems
from api.heavy_frames import HeavyAnswer, HeavyRequest, Opening, frame, read_frame
from model.errors import TooMany, Unknown
from service import error_codes as kinds
from service.call import Backend

log = structlog.get_logger()

LIGHT_BYTES_MAX = 16_384
LIGHT_US_MAX = 200_000
"""What takes longer than some milliseconds of this is done in a thread."""
PROCESSES_MAX = 2
WAITING_MAX = 20
"""Requests of one account that wait for their turn."""
IDLE_S_MAX = 300.0
"""A process that had nothing to do for so long is ended: it takes as much memory as the API."""
_OURS = (b"prefer", b"connection", b"accept-encoding", b"x-request-id")
"""Headers that are not passed on. `Prefer: wait` would keep a process waiting; what was asked for is answered 202."""


class HeavyRequests:
    """Answers heavy requests; `opening` is sent to each process that it starts."""

    def __init__(self, open_backend: Callable[[], Backend], version: str, cpu_s: int) -> None:
        self._opening = Opening(open_backend, version, cpu_s)
        self._free = asyncio.Semaphore(PROCESSES_MAX)
        self._idle: list[_Process] = []
        self._turns: dict[str, asyncio.Lock] = {}
        self._asked: Counter[str] = Counter()

    async def answer(self, account: str, request: Request) -> Response:
        """The answer to a request of this account.

        Raises:
            TooMany: too many others of the account wait.
            Unknown: the process ended, by no fault of the request.
        """
        whole = HeavyRequest(_scope_of(request), await request.body())
        async with self._turn_of(account), self._free, self._process() as process:
            answer = await process.answer(whole)
        if answer is None:
            said = (
                f"this takes more than {self._opening.cpu_s} s of processor time and was ended; send less at once, "
                f"such as fewer or smaller workflows"
            )
            return problems.problem(kinds.TOO_LARGE, said, request.state.request_id)
        response = Response(bytes(answer.body), answer.status)
        response.raw_headers = list(answer.headers)
        return response

    async def close(self) -> None:
        while self._idle:
            await self._idle.pop().end()

    @asynccontextmanager
    async def _turn_of(self, account: str) -> AsyncIterator[None]:
        if self._asked[account] > WAITING_MAX:
            raise TooMany(f"{WAITING_MAX} large requests of this account wait already; wait for their answers", 5)
        self._asked[account] += 1
        try:
            async with self._turns.setdefault(account, asyncio.Lock()):
                yield
        finally:
            self._asked[account] -= 1
            if not self._asked[account]:
                del self._asked[account], self._turns[account]

    @asynccontextmanager
    async def _process(self) -> AsyncIterator[_Process]:
        """A process for one request. It is used again only if the block ends well."""
        process = next((each for each in iter(self._take_idle, None) if each.lives), None)
        if process is None:
            process = await _Process.started(self._opening)
        try:
            yield process
        except BaseException:
            await process.end()
            raise
        if process.lives:
            self._idle.append(process)
            asyncio.get_running_loop().call_later(IDLE_S_MAX, self._end_unused, process, process.answers)

    def _take_idle(self) -> _Process | None:
        return self._idle.pop() if self._idle else None

    def _end_unused(self, process: _Process, answers: int) -> None:
        if process in self._idle and process.answers == answers:
            self._idle.remove(process)
            process.kill()


class _Process:
    """One process, and how many requests it has answered."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self.answers = 0

    @classmethod
    async def started(cls, opening: Opening) -> _Process:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-P", "-X", "utf8", "-m", f"{__package__}.heavy_process"),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
        )
        assert process.stdin is not None
        process.stdin.write(frame(opening))
        return cls(process)

    @property
    def lives(self) -> bool:
        return self._process.returncode is None

    async def answer(self, request: HeavyRequest) -> HeavyAnswer | None:
        """None: it used up its processor time, and the process has ended."""
        requests, answers = self._process.stdin, self._process.stdout
        assert requests is not None
        assert answers is not None
        try:
            requests.write(frame(request))
            await requests.drain()
            answer: HeavyAnswer = await read_frame(answers)
        except (asyncio.IncompleteReadError, ConnectionError):
            code = await self._process.wait()
            log.warning("heavy_request_ended", code=code, path=request.scope["path"][:200])
            if code == -signal.SIGPROF:
                return None
            raise Unknown("the process that handled this request ended; ask whether it was done") from None
        self.answers += 1
        return answer

    def kill(self) -> None:
        with suppress(ProcessLookupError):
            self._process.kill()

    async def end(self) -> None:
        self.kill()
        await self._process.wait()


def _scope_of(request: Request) -> dict[str, object]:
    """What of the ASGI scope the other process needs; the name by which logs call the request among it."""
    scope = request.scope
    copied = (
        *("type", "asgi", "http_version", "method", "scheme", "client", "server"),
        *("path", "raw_path", "query_string", "root_path"),
    )
    headers = [(name, value) for name, value in scope["headers"] if name not in _OURS]
    headers.append((b"x-request-id", request.state.request_id.encode()))
    return {**{name: scope[name] for name in copied if name in scope}, "headers": headers}
