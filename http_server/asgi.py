"""What an application is to a server (ASGI), and the plain answers of one without a framework."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from typing import Any

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

STALLED_S_MAX = 30.0
"""Seconds for which a client may take nothing of what is sent to it; then its connection is ended."""


def host_name(header: str) -> str:
    """The name in a Host header, lower case and without the port; empty if there is none."""
    name = header[: header.rindex("]") + 1] if header.startswith("[") and "]" in header else header.partition(":")[0]
    return name.lower()


async def answer(send: Send, status: int, body: bytes | str, headers: Mapping[str, str] | None = None) -> None:
    """Send a whole answer: plain text, unless `headers` say another Content-Type."""
    body = body.encode() if isinstance(body, str) else body
    lines = {
        "Content-Type": "text/plain; charset=utf-8",
        "Content-Length": str(len(body)),
        "Cache-Control": "no-store",
        "X-Content-Type-Options": "nosniff",
        **(headers or {}),
    }
    raw = [(name.lower().encode(), value.encode("latin-1")) for name, value in lines.items()]
    await send({"type": "http.response.start", "status": status, "headers": raw})
    await send({"type": "http.response.body", "body": body})


async def all_in_use(_scope: Scope, _receive: Receive, send: Send) -> None:
    """The application that says that all connections have requests."""
    await answer(send, 503, "all connections are in use; ask again\n")
