"""The drill of `shoal up`: its API may ask it to kill one of its masters, over a socket in the private data folder.

A request is a line of JSON, `{"kill": "m2"}` or `{}`; the answer is another one. Only the user who runs `shoal up` can
open the socket, and that user can kill the processes anyway: the rights of accounts are the API's to check.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dao.logger import logger
from model.errors import Refused, Unavailable

if TYPE_CHECKING:
    from shoal.local.local_cluster import Child, LocalCluster

log = logger()

ANSWER_S_MAX = 5.0
REQUEST_BYTES_MAX = 2_000
ADDRESS_BYTES_MAX = 100
"""The system's limit for the address of a socket is 108 on Linux, 104 elsewhere."""


def socket_in(folder: Path) -> Path | None:
    """The socket's address; None where it would be too long."""
    path = (folder / "drill.sock").absolute()
    return path if len(os.fsencode(path)) <= ADDRESS_BYTES_MAX else None


class DrillClient:
    """A client of the `shoal up` at this address."""

    def __init__(self, socket: Path) -> None:
        self._socket = socket

    async def masters(self) -> Sequence[str]:
        """The names of the masters that run. Raises `Unavailable`."""
        return list((await self._ask({}))["masters"])

    async def kill(self, name: str) -> int:
        """Kill a master, and return its process id. Raises `Refused` and `Unavailable`."""
        return int((await self._ask({"kill": name}))["pid"])

    async def _ask(self, request: dict[str, Any]) -> dict[str, Any]:
        try:
            async with asyncio.timeout(ANSWER_S_MAX):
                reader, writer = await asyncio.open_unix_connection(self._socket)
                try:
                    writer.write(json.dumps(request).encode() + b"\n")
                    answer: dict[str, Any] = json.loads(await reader.readline())
                finally:
                    writer.close()
        except (OSError, ValueError, TimeoutError) as error:
            raise Unavailable(f"`shoal up` does not answer the API that it started: {error}") from error
        if "refused" in answer:
            raise Refused(answer["refused"])
        return answer


class DrillServer:
    """Kills masters of `cluster` on request. `killed` has those whose end was ordered, until somebody removes them."""

    def __init__(self, cluster: LocalCluster) -> None:
        self.killed: set[str] = set()
        self._cluster = cluster

    @asynccontextmanager
    async def serve(self, socket: Path) -> AsyncIterator[None]:
        socket.unlink(missing_ok=True)  # noqa: ASYNC240 - a local folder
        server = await asyncio.start_unix_server(self._answer, socket, limit=REQUEST_BYTES_MAX)
        socket.chmod(0o600)  # noqa: ASYNC240 - as above
        try:
            yield
        finally:
            server.close()
            socket.unlink(missing_ok=True)  # noqa: ASYNC240 - as above

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError, TimeoutError, ValueError):  # the process that asked is gone, or does not speak to us
            async with asyncio.timeout(ANSWER_S_MAX):
                request = json.loads(await reader.readline())
                name = request.get("kill") if isinstance(request, dict) else 0
                answer = self._handled(name) if name is None or isinstance(name, str) else {"refused": "name a master"}
                writer.write(json.dumps(answer).encode() + b"\n")
                await writer.drain()
        writer.close()

    def _handled(self, name: str | None) -> dict[str, Any]:
        running = {child.name: child for child in self._cluster.masters if child.runs}
        if name is None:
            return {"masters": list(running)}
        if name not in running:
            return {"refused": f"no master {name} runs here; there are {', '.join(running) or 'none'}"}
        if len(running) < 2:
            return {"refused": f"{name} is the last master: nobody could fail its runs over"}
        return self._kill(running[name])

    def _kill(self, master: Child) -> dict[str, Any]:
        pid = master.pid
        self.killed.add(master.name)
        master.send(signal.SIGKILL)
        log.warning("drill_killed_master", name=master.name, pid=pid)
        return {"pid": pid}
