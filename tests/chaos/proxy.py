"""A TCP proxy between one process and one server, which passes, delays, holds, swallows, drops or refuses on request.

All gates live on one event loop in a thread of their own, so that a test that waits for a server does not hold up the
traffic. Held data is not lost: as after a cut cable it arrives when the hold ends, if the connection still lives, or
even after its sender has given up. Swallowed data is acknowledged and lost, as by a firewall that forgot its
connections: each connection that was open then stays so forever, in that direction, and the client never learns of its
end; new ones are healthy again as soon as the gate is.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import threading
from collections.abc import Coroutine
from enum import Flag
from typing import Any, TypeVar

from tests.servers.child import free_port

T = TypeVar("T")

CHUNK = 65_536
_COMMIT = b"COMMIT\x00"
"""How a client of PostgreSQL ends a transaction, in the simple query protocol."""


class Way(Flag):
    """The directions of a connection."""

    ASK = 1
    """From the client to the server."""
    ANSWER = 2
    """From the server to the client."""


NEITHER = Way(0)


class Proxies:
    """The thread in which gates live. Use it as a context or `close` it."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="proxies", daemon=True)
        self._thread.start()
        self._gates: list[Gate] = []

    def gate(self, target_port: int) -> Gate:
        """A new open gate to a port of 127.0.0.1, where nothing need listen yet."""
        gate = Gate(self, target_port)
        self.run(gate.listen())
        self._gates.append(gate)
        return gate

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Do something in the proxies' thread and wait for it."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(timeout=10)

    def close(self) -> None:
        """Cut everything and end the thread."""
        for gate in self._gates:
            self.run(gate.end())
        self.run(_all_else_has_ended())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def __enter__(self) -> Proxies:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Gate:
    """One port of 127.0.0.1 that leads to another, made by `Proxies.gate`. Any thread may call its methods."""

    def __init__(self, proxies: Proxies, target_port: int) -> None:
        self.port = free_port()
        self._proxies = proxies
        self._target_port = target_port
        self._server: asyncio.Server | None = None
        self._flowing = asyncio.Event()
        self._flowing.set()
        self._delay_s = 0.0
        self._refuses = False
        self._swallows = NEITHER
        self._passes = asyncio.Event()
        self._passes.set()
        self._commits_to_lose = 0
        self._commits_to_swallow = 0
        self._swallows_commits = NEITHER
        self._late_s = 0.0
        self._links: set[_Link] = set()

    def open(self) -> None:
        """Let everything through at once, what was held too."""
        self._proxies.run(self._set(flows=True))

    def delay(self, seconds: float) -> None:
        """Each piece of data, either way, comes so much later."""
        self._proxies.run(self._set(flows=True, delay_s=seconds))

    def hold(self) -> None:
        """Accept, and let nothing through: what a network that swallows looks like."""
        self._proxies.run(self._set(flows=False))

    def swallow(self, way: Way) -> None:
        """Acknowledge and lose what comes that way, on the connections there are and on those made from now on, until
        the gate opens; all of these stay dead that way."""
        self._proxies.run(self._set(flows=True, swallows=way))

    def refuse(self) -> None:
        """Drop every connection, and each new one at once."""
        self._proxies.run(self._set(flows=True, refuses=True))
        self.drop()

    def drop(self) -> int:
        """Reset every connection; new ones may come. How many there were."""
        return self._proxies.run(self._drop())

    def lose_commits(self, count: int, late_s: float = 0.0) -> None:
        """Lose the answers to the next `count` COMMITs of PostgreSQL: the client's connection is reset as soon as it
        has sent one, and the server gets it `late_s` seconds later."""
        self._proxies.run(self._lose(count, late_s))

    def swallow_commits(self, count: int, way: Way) -> None:
        """Swallow the next `count` COMMITs of PostgreSQL, or their answers, and everything after them on their
        connections; all others stay healthy."""
        self._proxies.run(self._swallow_commits(count, way))

    @property
    def commits_to_swallow(self) -> int:
        return self._commits_to_swallow

    @property
    def commits_to_lose(self) -> int:
        return self._commits_to_lose

    async def listen(self) -> None:
        """Begin; called once, in the proxies' thread."""
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", self.port, limit=CHUNK)

    async def end(self) -> None:
        """End; called once, in the proxies' thread."""
        assert self._server is not None
        self._server.close()
        self._refuses = True  # else one that was accepted and not served yet would stay
        self._flowing.set()
        self._passes.set()
        await self._drop()

    async def _set(self, *, flows: bool, delay_s: float = 0.0, refuses: bool = False, swallows: Way = NEITHER) -> None:
        self._delay_s, self._refuses, self._swallows = delay_s, refuses, swallows
        self._passes.clear() if swallows else self._passes.set()
        for link in self._links:
            link.swallows |= swallows
        if flows:
            self._flowing.set()
        else:
            self._flowing.clear()

    async def _drop(self) -> int:
        links = list(self._links)
        for link in links:
            link.reset()
        return len(links)

    async def _lose(self, count: int, late_s: float) -> None:
        self._commits_to_lose, self._late_s = count, late_s

    async def _swallow_commits(self, count: int, way: Way) -> None:
        self._commits_to_swallow, self._swallows_commits = count, way

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._refuses:
            _reset(writer)
            return
        link = _Link(writer, self._swallows, self._passes)
        self._links.add(link)
        try:
            await self._flowing.wait()
            far_reader, far_writer = await asyncio.open_connection("127.0.0.1", self._target_port, limit=CHUNK)
            link.far = far_writer
            # When one side ends the other must hear of it, also if it was a reset in the middle of a wait.
            both = {
                asyncio.ensure_future(self._ask(link, reader, far_writer)),
                asyncio.ensure_future(self._answer(link, far_reader, writer)),
            }
            await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
            for each in both:
                each.cancel()
            outcomes = await asyncio.gather(*both, return_exceptions=True)
            link.reset() if any(isinstance(each, OSError) for each in outcomes) else link.close()
        except OSError:
            link.reset()
        finally:
            self._links.discard(link)

    async def _ask(self, link: _Link, reader: asyncio.StreamReader, far: asyncio.StreamWriter) -> None:
        """From client to server, minding COMMITs."""
        while (data := await reader.read(CHUNK)) or await link.keeps_quiet(Way.ASK):
            await self._wait_as_told()
            if self._commits_to_swallow and data.endswith(_COMMIT):
                self._commits_to_swallow -= 1
                link.swallows |= self._swallows_commits
            if Way.ASK in link.swallows:
                continue
            if self._commits_to_lose and data.endswith(_COMMIT):
                self._commits_to_lose -= 1
                _reset(link.near)
                await asyncio.sleep(self._late_s)
                far.write(data)
                await far.drain()
                far.close()  # gently: the server reads the COMMIT before it sees the end
                link.far = None
                return
            far.write(data)
            await far.drain()

    async def _answer(self, link: _Link, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while (data := await reader.read(CHUNK)) or await link.keeps_quiet(Way.ANSWER):
            await self._wait_as_told()
            if Way.ANSWER in link.swallows:
                continue
            writer.write(data)
            await writer.drain()

    async def _wait_as_told(self) -> None:
        if self._delay_s:
            await asyncio.sleep(self._delay_s)
        await self._flowing.wait()


class _Link:
    """Both ends of one connection; `far` is None before it is made and once it is left to itself."""

    def __init__(self, near: asyncio.StreamWriter, swallows: Way, passes: asyncio.Event) -> None:
        self.near = near
        self.far: asyncio.StreamWriter | None = None
        self.swallows = swallows
        self._passes = passes
        self._is_reset = asyncio.Event()

    async def keeps_quiet(self, way: Way) -> bool:
        """Handle the end of one direction. A swallowed client never learns of it; a server does once the gate passes
        data again, as its keep-alives would find out. Always False."""
        if way in self.swallows:
            await (self._passes if way is Way.ASK else self._is_reset).wait()
        return False

    def close(self) -> None:
        """Gently: what was sent arrives."""
        self.near.close()
        if self.far is not None:
            self.far.close()

    def reset(self) -> None:
        self._is_reset.set()
        _reset(self.near)
        if self.far is not None:
            _reset(self.far)


async def _all_else_has_ended() -> None:
    """Wait for all other tasks: one that still runs when its loop is closed would complain later."""
    await asyncio.gather(*(asyncio.all_tasks() - {asyncio.current_task()}), return_exceptions=True)


def _reset(writer: asyncio.StreamWriter) -> None:
    """End a connection by RST, as a machine that knows nothing of it would."""
    raw = writer.get_extra_info("socket")
    if raw is not None and not writer.transport.is_closing():
        with contextlib.suppress(OSError):
            raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\x00\x00\x00\x00\x00\x00\x00")
    writer.transport.abort()
