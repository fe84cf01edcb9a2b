"""A real HTTP server that says byte for byte what a test wants, also what no good server would say."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field


@dataclass
class Seen:
    """One request as it came over the wire."""

    line: str
    headers: list[tuple[str, str]]
    body: bytes

    @property
    def target(self) -> str:
        return self.line.split(" ")[1]

    def header(self, name: str) -> str | None:
        return next((value for each, value in self.headers if each.lower() == name.lower()), None)


Answer = Callable[["HttpServer", Seen, asyncio.StreamWriter], Awaitable[None]]


@dataclass
class HttpServer:
    """Answers each request by the function of its path, the first part up to `?`; all requests are kept."""

    answers: dict[str, Answer]
    address: str = ""
    seen: list[Seen] = field(default_factory=list)
    gone: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when a client has closed its connection."""

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
            headers = [(name, value.strip()) for name, _, value in (line.partition(":") for line in head[1:] if line)]
            seen = Seen(head[0], headers, b"")
            seen.body = await reader.readexactly(int(seen.header("Content-Length") or 0))
            self.seen.append(seen)
            path = seen.target.partition("?")[0]
            answer = self.answers.get(path) or self.answers["*"]
            talk = asyncio.ensure_future(answer(self, seen, writer))
            await reader.read()  # ends when the client closes
            talk.cancel()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            self.gone.set()
            writer.close()


@asynccontextmanager
async def http_server(answers: dict[str, Answer]) -> AsyncIterator[HttpServer]:
    """The server on a free port of this machine until the block ends."""
    server = HttpServer(answers)
    listening = await asyncio.start_server(server.handle, "127.0.0.1", 0)
    server.address = f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}"
    try:
        yield server
    finally:
        listening.close()


def says(status: str, body: bytes | str = b"", *headers: str) -> Answer:
    """An answer with a length, after which the connection is closed."""

    async def answer(_: HttpServer, seen: Seen, writer: asyncio.StreamWriter) -> None:
        data = body.encode() if isinstance(body, str) else body
        head = [f"HTTP/1.1 {status}", f"Content-Length: {len(data)}", "Connection: close", *headers]
        writer.write("\r\n".join([*head, "", ""]).encode() + data)
        await writer.drain()
        writer.close()

    return answer


async def never(_server: HttpServer, _seen: Seen, _writer: asyncio.StreamWriter) -> None:
    """An answer that does not come."""
