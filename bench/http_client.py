"""HTTP as a cheap client speaks it: one kept connection, so that the client's own work hardly counts."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from types import TracebackType
from typing import Any

from bench.cluster import BenchFailed

_ANSWER_S_MAX = 60


class Unanswered(BenchFailed):
    """The API answered that its database took too long."""


class HttpClient:
    """One connection to an API. Use it as a context manager.

    Args:
        port: of the API on loopback.
        token: sent with each request.
    """

    def __init__(self, port: int, token: str) -> None:
        self._port = port
        self._head = f"Host: 127.0.0.1\r\nAuthorization: Bearer {token}\r\n"

    async def __aenter__(self) -> HttpClient:
        self._reader, self._writer = await asyncio.open_connection("127.0.0.1", self._port)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._writer.close()

    async def ask(self, method: str, path: str, *, key: str | None = None) -> dict[str, Any]:
        """The JSON of an answer; `key` is an idempotency key. Raises `BenchFailed` for a status other than 2xx."""
        self._send(method, path, f"Idempotency-Key: {key}\r\n" if key else "")
        async with asyncio.timeout(_ANSWER_S_MAX):
            head = (await self._reader.readuntil(b"\r\n\r\n")).decode().lower()
            length = next(line for line in head.split("\r\n") if line.startswith("content-length:"))
            body = await self._reader.readexactly(int(length.partition(":")[2]))
        if not head.startswith("http/1.1 2"):
            kind = Unanswered if head.startswith("http/1.1 503") else BenchFailed
            raise kind(f"{method} {path} was answered {head.splitlines()[0]}: {body.decode()[:300]}")
        found: dict[str, Any] = json.loads(body)
        return found

    async def lines(self, path: str) -> AsyncGenerator[bytes]:
        """The lines of an answer without an end, head and chunk sizes included."""
        self._send("GET", path, "")
        while line := await self._reader.readline():
            yield line

    def _send(self, method: str, path: str, more: str) -> None:
        self._writer.write(f"{method} {path} HTTP/1.1\r\n{self._head}{more}Content-Length: 0\r\n\r\n".encode())
