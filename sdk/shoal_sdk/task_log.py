"""The log of an attempt as lines, which goes on where it was when the server was away; both clients read it so."""

from __future__ import annotations

from typing import Any

from shoal_sdk.errors import SdkError
from shoal_sdk.exchange import BASE, Patience


class TaskLog:
    """How far the log of an attempt was read. `request` has the arguments of a stream of the rest of it."""

    def __init__(self, attempt: str, *, follow: bool) -> None:
        self._url, self._follow = f"{BASE}/task-instances/{attempt}/log", follow
        self._offset, self._rest = 0, b""
        self._patience = Patience()

    @property
    def request(self) -> dict[str, Any]:
        """What to ask for."""
        query = {"offset": self._offset, "follow": str(self._follow).lower()}
        return {"method": "GET", "url": self._url, "params": query, "headers": {"Accept": "text/plain"}}

    def is_read(self) -> None:
        """The server is there."""
        self._patience = Patience()

    def lines(self, part: bytes) -> list[str]:
        """The lines that a part completes."""
        self._offset += len(part)
        *lines, self._rest = (self._rest + part).split(b"\n")
        return [line.decode("utf-8", "replace") for line in lines]

    def last_line(self) -> list[str]:
        """The line at the end, if it has no line feed."""
        return [self._rest.decode("utf-8", "replace")] if self._rest else []

    def pause_s(self, error: SdkError) -> float:
        """How long to wait before the rest is asked for. Raises the error."""
        return self._patience.pause(error).seconds
