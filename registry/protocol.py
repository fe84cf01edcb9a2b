"""What Shoal requires of a registry, and no more.

A registry is a hint. It reports quickly which nodes came and went; the database decides which may write. So nothing
here is a lock, and a stale answer costs a lost race for rows, never a second start.
"""

from __future__ import annotations

import asyncio
from enum import StrEnum
from typing import TYPE_CHECKING, Protocol

from model.cluster.nodes import Heartbeat, NodeKind

if TYPE_CHECKING:
    from dao.postgres.listen import Listener


class ConnectionState(StrEnum):
    """How far the last answer can be trusted."""

    CONNECTED = "CONNECTED"
    SUSPENDED = "SUSPENDED"
    """No server answers now: keep what is known, and do not declare any node dead because of it."""
    LOST = "LOST"
    """The session is over, or has had no answer for longer than its time-out: our own entry may be gone."""


class Registry(Protocol):
    """Ephemeral entries `<root>/<kind>/<epoch>` that hold a heartbeat and vanish with their process.

    All methods but the constructor belong to the event loop that called `open`. All but `close` and `update` raise
    `model.errors.Unavailable` (naming the URL, without password) when no server answers in time: at once when none is
    there, within a few seconds when one is there but silent.

    The requests of `register`, `update` and `unregister` are remembered. If no server answers, they raise or return,
    and the request is carried out as soon as one does; so a caller may retry, but need not.
    """

    url: str
    """The address of the registry, without credentials: for messages and logs."""

    changed: asyncio.Event
    """Set whenever members of a kind that was read may have come or gone, and on each reconnect. Carries no data: the
    woken loop clears it, then reads `members`, which also sets the next wake. It is sometimes set needlessly. Reading
    on a timer covers a missed wake, and a change within an entry."""

    @property
    def state(self) -> ConnectionState:
        """The connection state, computed when read: a process that slept through its session reads LOST as soon as it
        wakes, before any notification."""
        ...

    @property
    def last_contact(self) -> float:
        """When this process last had proof of a living session: the *send* time, in seconds of CLOCK_BOOTTIME, of the
        last round trip that succeeded. 0.0 before the first."""
        ...

    @property
    def unbroken_since(self) -> float:
        """Since when this process has not been LOST: the send time of the first proof. For a node that came back less
        than a session ago, an entry missing in the registry does not mean that the node is gone: the registry may have
        lost all entries, while other living nodes still believe in their sessions and return when those end."""
        ...

    async def open(self, timeout_s: float) -> None:
        """Connect, retrying with back-off for up to `timeout_s` seconds.

        Raises:
            Unavailable: no server answered in that time.
            Refused: one answered, but rejects our credentials.
        """
        ...

    def use(self, ears: Listener) -> None:
        """A node's LISTEN connection to the cluster's database, which does not run yet; called once, after `open`. A
        registry in the same database listens there too, and needs no other."""
        ...

    async def close(self) -> None:
        """Delete our entry and end the session. Never raises, never takes longer than a few seconds."""
        ...

    async def register(self, heartbeat: Heartbeat) -> None:
        """Create our ephemeral entry, and create it again (same epoch, latest heartbeat) whenever it was lost."""
        ...

    async def update(self, heartbeat: Heartbeat) -> None:
        """Write the latest heartbeat into our entry: what other nodes act upon at once, the rest within a third of the
        session time-out. Never raises `Unavailable`. Without a registration it does nothing, so that a late update
        cannot bring back a deleted entry."""
        ...

    async def unregister(self) -> None:
        """Delete our entry now, so that other nodes need not wait for the session to end."""
        ...

    async def members(self, kind: NodeKind) -> list[Heartbeat]:
        """A fresh read of all entries of a kind, by rising epoch. Entries that cannot be read as a heartbeat are left
        out and logged, not raised."""
        ...

    async def read_mark(self) -> str | None:
        """The mark that identifies the registry of one cluster; None when it has no mark."""
        ...

    async def set_mark(self, mark: str) -> str:
        """Set this mark, unless there is one already. Returns the mark that is there; a lost mark is created again."""
        ...

    def remember(self, text: str | None) -> None:
        """Keep this text with the next proof of the session, for when all nodes are gone. A registry in a database
        remembers nothing: it is restored with it."""
        ...

    async def remembered(self) -> str | None:
        """The last such text of any node."""
        ...

    async def forget(self) -> None:
        """Forget it, since another cluster begins here."""
        ...
