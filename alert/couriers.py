"""The couriers of one sender: processes that are started when needed, used again, and killed when one hangs."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress

import structlog

from alert.letter import READY, Letter, Outcome, Receipt

log = structlog.get_logger()

GRACE_S = 1.0
"""How much longer than the courier itself its sender waits before it kills it."""

START_S = 60.0
"""A courier that takes longer to load its libraries is killed."""

IDLE_MAX = 4
"""More idle couriers are ended: they are needed only in the next bad minute."""

_INHERITED = ("PATH", "LANG", "LC_ALL", "TZ", "SSL_CERT_FILE", "SSL_CERT_DIR", "PYTHONPATH", "VIRTUAL_ENV")
"""The inherited environment variables: none with a secret, no proxy."""


class Couriers:
    """Any number of couriers; the caller limits how many are in use at once."""

    def __init__(self) -> None:
        self._free: asyncio.Queue[asyncio.subprocess.Process | OSError] = asyncio.Queue()
        """Ready couriers, and errors of couriers that could not be started."""
        self._waiting = 0
        self._starting: set[asyncio.Task[None]] = set()
        self._all: set[asyncio.subprocess.Process] = set()

    async def deliver(self, letter: Letter) -> Receipt:
        """Have a letter sent; returns its receipt a second after `letter.send_until_s` at the latest."""
        span_s = letter.send_until_s - time.monotonic()
        try:
            async with asyncio.timeout(max(0.0, span_s) + GRACE_S), self._one() as courier:
                assert courier.stdin is not None
                assert courier.stdout is not None
                courier.stdin.write(letter.to_line())
                await courier.stdin.drain()
                answer = await courier.stdout.readline()
                if not answer:
                    await courier.wait()
                    raise ConnectionResetError
                return Receipt.from_line(answer)
        except (TimeoutError, ConnectionError, ValueError):
            if time.monotonic() >= letter.send_until_s - GRACE_S:
                return Receipt(Outcome.FAILED, f"no complete answer within {span_s:.0f} s")
            return Receipt(Outcome.FAILED, "the process that sent it ended: its answer was too large, or it was killed")
        except OSError as error:
            return Receipt(Outcome.FAILED, f"no process could be started to send it: {error.strerror}")

    @property
    def ready(self) -> int:
        """The number of idle couriers."""
        return self._free.qsize()

    async def close(self) -> None:
        for starting in self._starting:
            starting.cancel()
        await asyncio.gather(*self._starting, return_exceptions=True)
        for each in list(self._all):
            await self._end(each)

    @asynccontextmanager
    async def _one(self) -> AsyncIterator[asyncio.subprocess.Process]:
        """A courier for one letter. It is reused only if the block ends without an error."""
        courier = await self._take()
        try:
            yield courier
        except BaseException:
            await self._end(courier)
            raise
        if self._free.qsize() < IDLE_MAX:
            self._free.put_nowait(courier)
        else:
            await self._end(courier)

    async def _take(self) -> asyncio.subprocess.Process:
        self._waiting += 1
        try:
            while True:
                if len(self._starting) + self._free.qsize() < self._waiting:
                    starting = asyncio.create_task(self._start())
                    self._starting.add(starting)
                    starting.add_done_callback(self._starting.discard)
                courier = await self._free.get()
                if isinstance(courier, OSError):
                    raise courier
                if courier.returncode is None:
                    return courier
                self._all.discard(courier)
        finally:
            self._waiting -= 1

    async def _start(self) -> None:
        """Start a courier, without a time limit: a busy machine may need longer than a letter may wait."""
        courier = None
        try:
            async with asyncio.timeout(START_S):
                courier = await asyncio.create_subprocess_exec(
                    *(sys.executable, "-P", "-m", f"{__package__}.courier"),
                    stdin=asyncio.subprocess.PIPE,
                    stdout=asyncio.subprocess.PIPE,
                    stderr=asyncio.subprocess.DEVNULL,
                    env=_environment(os.environ),
                )
                self._all.add(courier)
                assert courier.stdout is not None
                if await courier.stdout.readline() != READY:
                    raise ConnectionResetError
            self._free.put_nowait(courier)
        except BaseException as error:
            if courier is not None:
                await self._end(courier)
            if not isinstance(error, OSError):
                raise
            if self._waiting:
                self._free.put_nowait(error)

    async def _end(self, courier: asyncio.subprocess.Process) -> None:
        self._all.discard(courier)
        with suppress(ProcessLookupError):
            courier.kill()
        await courier.wait()


def _environment(ours: Mapping[str, str]) -> dict[str, str]:
    return {name: ours[name] for name in _INHERITED if name in ours}
