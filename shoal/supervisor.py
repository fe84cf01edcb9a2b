"""Reports a process to systemd, or to a supervisor that speaks its protocol (sd_notify).

A datagram of lines NAME=VALUE to the socket that $NOTIFY_SOCKET names: READY once it can take work, STATUS in words,
STOPPING, and WATCHDOG for as long as the process lives (`metrics/health.py`). Without that variable nothing is sent. A
datagram may be lost: a supervisor never stops a process that works.
"""

from __future__ import annotations

import asyncio
import os
import socket
from contextlib import suppress

from metrics.health import Health

LOOK_EVERY_S = 1.0
WATCHDOG_SHARE = 1 / 3
"""The watchdog interval as a share of its limit: two datagrams may be late."""
_SOCKET, _LIMIT, _OWNER = "NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"


class Supervisor:
    """This process's supervisor, if it wants reports. Create it once: no child inherits the variables that it reads."""

    def __init__(self) -> None:
        given = {name: os.environ.pop(name, "") for name in (_SOCKET, _LIMIT, _OWNER)}
        address, limit = given[_SOCKET], given[_LIMIT]
        # "@" stands for the zero byte with which an address without a file begins.
        self._address = f"\0{address[1:]}" if address.startswith("@") else address
        is_watched = limit.isdecimal() and int(limit) > 0 and given[_OWNER] in ("", str(os.getpid()))
        self._every_s = min(LOOK_EVERY_S, int(limit) / 1e6 * WATCHDOG_SHARE) if is_watched else LOOK_EVERY_S
        self._watchdog = ["WATCHDOG=1"] if is_watched else []
        self._said = ""

    async def tell(self, health: Health) -> None:
        """Report the health of this process until cancelled; the pulse of the process."""
        is_started = False
        while True:
            health.pulse()
            lines = [] if health.why_dead() else list(self._watchdog)
            if health.begun.is_set() and not is_started:
                is_started = True
                lines.append("READY=1")
            self._send(*lines, *self._status(health))
            await asyncio.sleep(self._every_s)

    def stopping(self) -> None:
        """Report the begin of a graceful stop."""
        self._send("STOPPING=1", "STATUS=stopping")

    def _status(self, health: Health) -> list[str]:
        missing = health.why_not_ready()
        said = f"not ready: {'; '.join(missing)}" if missing else "ready"
        if said == self._said:
            return []
        self._said = said
        return [f"STATUS={said}"]

    def _send(self, *lines: str) -> None:
        if self._address and lines:
            with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sending:
                sending.setblocking(False)
                sending.sendto("\n".join(lines).encode(), self._address)
