"""Keepers whose task ended and left nothing: each takes the next command, which saves a fork of the zygote.

A keeper is added only when the kernel has told it that no process of its tree is left, and no request of the worker to
it can still be in flight. It is closed when it has been idle for a while.
"""

from __future__ import annotations

import asyncio
import socket
from typing import NamedTuple

IDLE_S_MAX = 5.0


class _Idle(NamedTuple):
    channel: socket.socket
    since_s: float


class IdleKeepers:
    """The idle keepers of one worker's zygote; the most recently used is taken first."""

    def __init__(self) -> None:
        self._idle: list[_Idle] = []
        self._timer: asyncio.TimerHandle | None = None

    def put(self, channel: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        self._idle.append(_Idle(channel, loop.time()))
        if self._timer is None:
            self._timer = loop.call_later(IDLE_S_MAX, self._give_up)

    def take(self) -> socket.socket | None:
        """The channel of a keeper, which may have been killed meanwhile; None if there is none."""
        return self._idle.pop().channel if self._idle else None

    def close(self) -> None:
        """Close all channels, which ends the keepers."""
        for each in self._idle:
            each.channel.close()
        self._idle.clear()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _give_up(self) -> None:
        self._timer = None
        loop = asyncio.get_running_loop()
        while self._idle and loop.time() - self._idle[0].since_s >= IDLE_S_MAX:
            self._idle.pop(0).channel.close()
        if self._idle:
            self._timer = loop.call_at(self._idle[0].since_s + IDLE_S_MAX, self._give_up)
