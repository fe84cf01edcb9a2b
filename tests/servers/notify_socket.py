"""A supervisor's end of sd_notify: a real socket, and what has come to it."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class NotifySocket:
    """The lines that one or more processes have sent."""

    def __init__(self, address: str) -> None:
        self.address = address
        """The value of $NOTIFY_SOCKET."""
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.bind(f"\0{address[1:]}" if address.startswith("@") else address)
        self._socket.setblocking(False)
        self._heard: list[str] = []

    def heard(self) -> list[str]:
        """All lines until now."""
        while True:
            try:
                self._heard += self._socket.recv(65_536).decode().splitlines()
            except BlockingIOError:
                return self._heard

    def forget(self) -> None:
        """Forget what has come until now."""
        self.heard()
        self._heard = []

    def close(self) -> None:
        """Hear no more."""
        self._socket.close()


@contextmanager
def notify_socket(address: Path | str) -> Iterator[NotifySocket]:
    """A socket at this path, or at this name that begins with @ and has no file."""
    made = NotifySocket(str(address))
    try:
        yield made
    finally:
        made.close()
