"""What Shoal asks of a registry, and no more.

A registry is a hint. It tells quickly who came and who went; the database decides who may write (design.md 1, rules 1
to 3). So nothing here is a lock, and a stale answer costs a lost race for rows, never a second start.
"""

from __future__ import annotations

import asyncio
from enum import StrEnum
from typing import Protocol

from model.nodes import Heartbeat, NodeKind


class ConnectionState(StrEnum):
    """How far the last answer can be trusted."""

    CONNECTED = "CONNECTED"
    SUSPENDED = "SUSPENDED"
    """No server answers just now: keep what is known, do not judge anybody by it."""
    LOST = "LOST"
    """The session is over, or has had no answer for longer than it lasts: our own entry may be gone."""


class Registry(Protocol):
    """Ephemeral entries `<root>/<kind>/<epoch>` that hold a heartbeat and vanish with their process.

    All methods but the constructor belong to the event loop that called `open`. All but `close` and `update` raise
    `model.errors.Unavailable` (naming the URL, without password) when no server answers in time: at once when none
    is there, within a few seconds when one is there and says nothing.

    What `register`, `update` and `unregister` ask for is remembered. If a server is away, they raise or return, and it
    is done as soon as one answers; so a caller may try again, and need not.
    """

    url: str
    """Where the registry is, without credentials: for sentences and logs."""

    changed: asyncio.Event
    """Set whenever members of a kind that was read may have come or gone, and on each reconnect. Carries nothing: who
    is woken clears it, then reads `members`, which also arms the next wake. Set needlessly now and then; a missed one,
    and a change within an entry, is made good by reading on a timer."""

    @property
    def state(self) -> ConnectionState:
        """The connection as it is known now, reckoned when asked: a process that slept through its session reads LOST
        as soon as it wakes, though nobody has told it yet."""
        ...

    @property
    def last_contact(self) -> float:
        """When this process last had proof of a living session: the *send* time, in seconds of CLOCK_BOOTTIME, of the
        last round trip that succeeded. 0.0 before the first."""
        ...

    @property
    def unbroken_since(self) -> float:
        """Since when this process was never LOST: the send time of the first such proof. What a registry does not show
        to one that came back less than a session ago is not gone: should it have lost everything, others who live may
        still believe in their sessions, and come back when those are over."""
        ...

    async def open(self, timeout_s: float) -> None:
        """Connect, trying again with back-off for up to `timeout_s` seconds.

        Raises:
            Unavailable: no server answered in that time.
            Refused: one answered, and does not take our credentials.
        """
        ...

    async def close(self) -> None:
        """Take our entry away and end the session. Never raises, never takes longer than a few seconds."""
        ...

    async def register(self, heartbeat: Heartbeat) -> None:
        """Make our ephemeral entry, and make it again (same epoch, latest heartbeat) whenever it was lost."""
        ...

    async def update(self, heartbeat: Heartbeat) -> None:
        """Write the latest heartbeat into our entry. Never raises `Unavailable`. Without a registration it does
        nothing, so that a late update cannot bring back an entry that was taken away."""
        ...

    async def unregister(self) -> None:
        """Take our entry away now, so that the others need not wait for the session to end."""
        ...

    async def members(self, kind: NodeKind) -> list[Heartbeat]:
        """A fresh read of all entries of a kind, by rising epoch. Entries that cannot be read as a heartbeat are left
        out and logged, not raised."""
        ...

    async def read_mark(self) -> str | None:
        """By what the registry is known as that of one cluster; None when it carries no mark."""
        ...

    async def hold_mark(self, mark: str) -> str:
        """Make it carry this mark, unless it has one; the one that it has. One that it loses is made again."""
        ...
