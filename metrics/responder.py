"""Answers `GET /metrics` from a thread with a small event loop of its own.

The loop of the process, which claims and drives, does not know of scrapes, and a process whose loop hangs is scraped
all the same. Whatever clients do is bounded: connections, the bytes and seconds of a request, the seconds of an answer.
The text is made at most twice a second, however many ask. For what comes from the database it waits a moment, and then
shows what was last read (`metrics/cluster.py`).
"""

from __future__ import annotations

import asyncio
import hmac
import re
import socket
import ssl
import threading
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress

CONNECTIONS_MAX = 100
BACKLOG = 64
"""So many are accepted in one turn; fewer than there may be, so that those who ask at once are answered first."""
REQUEST_S_MAX = 5.0
"""Seconds within which a request must have arrived; for TLS the handshake too."""
ANSWER_S_MAX = 10.0
"""Seconds within which a client must have taken the answer."""
HEAD_BYTES_MAX = 16_384
MADE_EVERY_S = 0.5
"""For so long the text is given to others who ask."""
START_S_MAX = 10.0
LOOPBACK_NAME = re.compile(r"|localhost|\[::1\]|127(\.\d{1,3}){3}")
"""As which it is reached without a token: a web page of another name could make a browser ask (DNS rebinding)."""
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_TEXT = "text/plain; charset=utf-8"

_STATUS = {
    200: "OK",
    400: "Bad Request",
    401: "Unauthorized",
    404: "Not Found",
    405: "Method Not Allowed",
    408: "Request Timeout",
    421: "Misdirected Request",
    431: "Request Header Fields Too Large",
    500: "Internal Server Error",
    503: "Service Unavailable",
}


class Responder:
    """Serves on a socket that listens already, between `start` and `stop`.

    Args:
        listener: the socket; it is closed by `stop`.
        make: makes the text; called in the responder's thread.
        token: what a request must send, None = any may read.
        tls: for https.
        refreshing: awaited before the text is made.
    """

    def __init__(
        self,
        listener: socket.socket,
        make: Callable[[], bytes],
        token: str | None = None,
        tls: ssl.SSLContext | None = None,
        refreshing: Sequence[Callable[[], Awaitable[None]]] = (),
    ) -> None:
        self._listener = listener
        self._make = make
        self._token = token
        self._tls = tls
        self._refreshing = refreshing
        self._open: dict[asyncio.StreamWriter, None] = {}
        self._made = b""
        self._made_s = float("-inf")
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stop: asyncio.Event | None = None
        self._thread = threading.Thread(target=self._run, name="metrics", daemon=True)
        self._started: Future[None] = Future()

    def start(self) -> None:
        """Begin to answer."""
        self._thread.start()
        self._started.result(START_S_MAX)

    def stop(self) -> None:
        """End all connections and the thread."""
        if self._loop is not None and self._stop is not None:
            with suppress(RuntimeError):  # its loop has ended
                self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(START_S_MAX)
        self._listener.close()

    def _run(self) -> None:
        try:
            asyncio.run(self._serve())
        except BaseException as error:
            if not self._started.done():
                self._started.set_exception(error)
            raise

    async def _serve(self) -> None:
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        server = await asyncio.start_server(
            self._connected,
            sock=self._listener,
            ssl=self._tls,
            ssl_handshake_timeout=REQUEST_S_MAX if self._tls else None,
            limit=HEAD_BYTES_MAX,
            backlog=BACKLOG,
        )
        self._started.set_result(None)
        await self._stop.wait()
        server.close()
        for writer in list(self._open):
            writer.transport.abort()

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._open[writer] = None
        if len(self._open) > CONNECTIONS_MAX:  # the oldest one: a new one is more likely to ask something
            oldest = next(iter(self._open))
            del self._open[oldest]
            oldest.transport.abort()
        try:
            async with asyncio.timeout(REQUEST_S_MAX + ANSWER_S_MAX):
                writer.write(await self._answer(reader))
                await writer.drain()
                if writer.can_write_eof():
                    writer.write_eof()
                await _read_away(reader)
        except (OSError, TimeoutError, ssl.SSLError):
            pass  # the client went, or reads nothing
        finally:
            self._open.pop(writer, None)
            writer.transport.abort()

    async def _answer(self, reader: asyncio.StreamReader) -> bytes:
        try:
            async with asyncio.timeout(REQUEST_S_MAX):
                head = await reader.readuntil(b"\r\n\r\n")
        except asyncio.LimitOverrunError:
            return _response(431, f"a request has {HEAD_BYTES_MAX} bytes at most\n")
        except asyncio.IncompleteReadError as error:
            return _response(400, "this is no request\n") if error.partial else b""
        except TimeoutError:
            return _response(408, f"a request must arrive within {REQUEST_S_MAX:g} s\n")
        first, *lines = head.decode("latin-1").split("\r\n")
        words = first.split(" ")
        if len(words) != 3 or not words[2].startswith("HTTP/1."):
            return _response(400, "this is no request of HTTP/1.1\n")
        method, target, _ = words
        path = target.partition("?")[0]
        if path not in ("/metrics", "/healthz"):
            return _response(404, "there is only /metrics\n")
        if method not in ("GET", "HEAD"):
            return _response(405, "ask with GET\n", headers={"Allow": "GET, HEAD"})
        if self._token is None and LOOPBACK_NAME.fullmatch(_host_of(lines)) is None:
            return _response(421, "without a token this is reached as 127.0.0.1 or localhost only\n")
        if path == "/healthz":
            return _response(200, "ok\n", is_head=method == "HEAD")
        if not self._may_read(lines):
            said = "send the token of metrics.token in the header Authorization: Bearer TOKEN\n"
            return _response(401, said, headers={"WWW-Authenticate": 'Bearer realm="shoal metrics"'})
        try:
            text = await self._text()
        except Exception as error:  # noqa: BLE001 - of any collector: the others' next scrape must go on
            return _response(500, f"the metrics could not be made: {type(error).__name__}\n")
        return _response(200, text, content=CONTENT_TYPE, is_head=method == "HEAD")

    def _may_read(self, lines: list[str]) -> bool:
        if self._token is None:
            return True
        kind, _, token = _header(lines, "authorization").partition(" ")
        return kind.lower() == "bearer" and hmac.compare_digest(token.strip().encode("latin-1"), self._token.encode())

    async def _text(self) -> bytes:
        if time.monotonic() - self._made_s >= MADE_EVERY_S:
            for refresh in self._refreshing:
                await refresh()
        if time.monotonic() - self._made_s >= MADE_EVERY_S:  # meanwhile another client may have had it made
            self._made, self._made_s = self._make(), time.monotonic()
        return self._made


def _header(lines: list[str], wanted: str) -> str:
    for line in lines:
        name, _, value = line.partition(":")
        if name.strip().lower() == wanted:
            return value.strip()
    return ""


def _host_of(lines: list[str]) -> str:
    """The name in the Host header, without the port; empty if there is none."""
    host = _header(lines, "host").lower()
    return host[: host.rindex("]") + 1] if host.startswith("[") and "]" in host else host.partition(":")[0]


async def _read_away(reader: asyncio.StreamReader) -> None:
    """Wait until the client has closed: closing first, with bytes unread, would discard the answer on its way."""
    left = HEAD_BYTES_MAX * 4
    while left > 0 and (read := await reader.read(HEAD_BYTES_MAX)):
        left -= len(read)


def _response(
    status: int,
    body: bytes | str,
    *,
    content: str = _TEXT,
    is_head: bool = False,
    headers: Mapping[str, str] | None = None,
) -> bytes:
    body = body.encode() if isinstance(body, str) else body
    lines = {
        "Content-Type": content,
        "Content-Length": str(len(body)),
        "Connection": "close",
        "Cache-Control": "no-store",
        "X-Content-Type-Options": "nosniff",
        **(headers or {}),
    }
    head = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
    return f"HTTP/1.1 {status} {_STATUS[status]}\r\n{head}\r\n".encode() + (b"" if is_head else body)
