"""A server of a small application in this process, and connections to it whose bytes a test sends itself."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any
from urllib.parse import urlsplit

from dao.secrets.certificate import Certificate
from http_server.asgi import App, Receive, Scope, Send, answer
from http_server.limits import Limits
from http_server.server import HttpServer, listen

LARGE = 32 << 20


async def small_app(scope: Scope, receive: Receive, send: Send) -> None:
    """Answers `/body` once it has the body of the request, `/large` with more than a connection buffers."""
    more = scope["path"] == "/body"
    while more:
        message = await receive()
        more = message.get("more_body", False)
    await answer(send, 200, b"x" * LARGE if scope["path"] == "/large" else "ok\n")


@asynccontextmanager
async def serving(app: App = small_app, *, tls: Certificate | None = None, **limits: Any) -> AsyncIterator[str]:
    """Its address."""
    given = Limits(**{"connections": 100, "head_s": 60.0, "body_s": 60.0, "head_bytes": 16_384, **limits})
    listener = listen("127.0.0.1", 0, given, what="a test", instead="another port")
    server = HttpServer(app, listener, given, tls=tls)
    await server.start()
    try:
        yield f"http{'s' if tls else ''}://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        await server.stop()


class Raw:
    """A connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer

    @classmethod
    async def to(cls, url: str, trusting: ssl.SSLContext | None = None) -> Raw:
        place = urlsplit(url)
        named = {"ssl": trusting, "server_hostname": "localhost"} if trusting else {}
        return cls(*await asyncio.open_connection(place.hostname, place.port, **named))

    @classmethod
    async def answered(cls, url: str, path: str = "/") -> Raw:
        """A connection with an answer. Where it may take so short that a busy machine lets the time of one run out, the
        next one gets it."""
        while True:
            with suppress(ConnectionError):
                raw = await cls.to(url)
                if (await raw.get(path)).startswith(b"HTTP/1.1 200"):
                    return raw

    def ask(self, path: str) -> None:
        """Send a request."""
        self.writer.write(b"GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n" % path.encode())

    async def get(self, path: str = "/") -> bytes:
        """The status of the first answer; empty if the connection was closed."""
        self.ask(path)
        return await self.reader.readline()

    async def head(self) -> bytes:
        """The next head."""
        return await self.reader.readuntil(b"\r\n\r\n")

    async def rest(self) -> bytes:
        """Read until the other side closes."""
        parts = []
        with suppress(ConnectionError):
            while part := await self.reader.read(1 << 20):
                parts.append(part)
        return b"".join(parts)

    async def trickle(self, data: bytes) -> None:
        """Send byte after byte, until the other side closes."""
        with suppress(ConnectionError):
            for place in range(len(data)):
                self.writer.write(data[place : place + 1])
                await self.writer.drain()
                await asyncio.sleep(0.05)
            await self.reader.read()
