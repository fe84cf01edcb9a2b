"""The couriers of one sender: processes that are started when needed, used again, and killed when one hangs."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress

import structlog

from alert.letter import Letter, Outcome, Receipt

log = structlog.get_logger()

GRACE_S = 1.0
"""How much longer than the courier itself its sender waits before it kills it."""

IDLE_MAX = 4
"""Idle ones beyond these are ended: they are needed again at the next bad minute only."""

_INHERITED = ("PATH", "LANG", "LC_ALL", "TZ", "SSL_CERT_FILE", "SSL_CERT_DIR", "PYTHONPATH", "VIRTUAL_ENV")
"""Of our environment: nothing with a secret, no proxy."""


class Couriers:
    """Any number of couriers; how many are in use at once is for their user to limit."""

    def __init__(self) -> None:
        self._idle: list[asyncio.subprocess.Process] = []
        self._all: set[asyncio.subprocess.Process] = set()

    async def deliver(self, letter: Letter) -> Receipt:
        """Have a letter sent; returns what became of it, by `letter.send_until_s` and a second at the latest."""
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

    async def close(self) -> None:
        """Kill all of them."""
        for each in list(self._all):
            await _kill(each)
        self._all.clear()
        self._idle.clear()

    @asynccontextmanager
    async def _one(self) -> AsyncIterator[asyncio.subprocess.Process]:
        """A courier for one letter. It is used again only if the block ends well."""
        courier = next((each for each in iter(self._take_idle, None) if each.returncode is None), None)
        if courier is None:
            courier = await _start()
            self._all.add(courier)
        try:
            yield courier
        except BaseException:
            self._all.discard(courier)
            await _kill(courier)
            raise
        if len(self._idle) < IDLE_MAX:
            self._idle.append(courier)
        else:
            self._all.discard(courier)
            await _kill(courier)

    def _take_idle(self) -> asyncio.subprocess.Process | None:
        return self._idle.pop() if self._idle else None


async def _start() -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        *(sys.executable, "-P", "-m", f"{__package__}.courier"),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        env=_environment(os.environ),
    )


def _environment(ours: Mapping[str, str]) -> dict[str, str]:
    return {name: ours[name] for name in _INHERITED if name in ours}


async def _kill(courier: asyncio.subprocess.Process) -> None:
    with suppress(ProcessLookupError):
        courier.kill()
    await courier.wait()
