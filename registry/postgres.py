"""The registry in PostgreSQL: leases in the table `registry_lease`, for a laptop and for clusters without ZooKeeper.

An entry is alive until `expires_at`, compared with the database's clock, never with a node's own. A lease is renewed at
least every third of the session time-out. Usually the connection that listens does it: it must show every three seconds
that it works, and a renewal shows that. When the registry is in the cluster's database, that is the node's own LISTEN
connection. Nodes that come or go, and changes that other nodes act upon, are notified at once. A process that dies
sends nothing, so a reader sets an alarm for the first lease that may lapse.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections.abc import Iterator
from datetime import timedelta

from dao.cluster.registry_rows import CHANNEL, RegistryRows
from dao.logger import logger
from dao.postgres.address import Address
from dao.postgres.connection import Connection
from dao.postgres.listen import Listener, probe
from dao.postgres.query_line import QueryLine
from model.backoff import Backoff
from model.cluster.nodes import Heartbeat, NodeKind
from model.errors import Denied, Refused, ShoalError, Unavailable
from registry.clock import boottime_s
from registry.contact import Contact
from registry.entry import EntryReader, write_entry
from registry.protocol import ConnectionState

log = logger()

_CLOSE_S = 2.0
_ALARM_MARGIN_S = 0.05


class PostgresRegistry:
    """`registry.protocol.Registry` by PostgreSQL.

    Args:
        url: the database, in SQLAlchemy's form.
        session_timeout: how long a lease lasts.
        application_name: the name of our connections in the database; the one that listens gets "-listen" added.
    """

    def __init__(self, url: str, *, session_timeout: timedelta, application_name: str) -> None:
        self._address = Address.of(url)
        self.url = self._address.shown
        self.changed = asyncio.Event()
        self._session_timeout = session_timeout
        self._renew_every_s = session_timeout.total_seconds() / 3
        self._contact = Contact(session_timeout)
        self._entries = EntryReader(self.url)
        self._line = QueryLine(url, application_name, answer_within_s=max(2.0, self._renew_every_s))
        self._rows = RegistryRows(self._line)
        self._listener = Listener(url, f"{application_name}-listen", {CHANNEL: self._notified}, self._renew_over)
        self._listening: asyncio.Task[None] | None = None
        self._tasks: list[asyncio.Task[None]] = []
        self._wake = asyncio.Event()
        self._entry_lock = asyncio.Lock()
        self._wanted: Heartbeat | None = None
        self._written: Heartbeat | None = None
        """A lease that may exist, wanted or not."""
        self._announced: Heartbeat | None = None
        self._alarms: dict[NodeKind, asyncio.TimerHandle] = {}

    @property
    def state(self) -> ConnectionState:
        return self._contact.state

    @property
    def last_contact(self) -> float:
        return self._contact.last_s

    @property
    def unbroken_since(self) -> float:
        return self._contact.unbroken_since_s

    async def open(self, timeout_s: float) -> None:
        """Connect.

        Raises:
            Unavailable: the database did not answer within `timeout_s` seconds.
            Denied: it does not let us.
            Refused: it answered, but has no table `registry_lease`.
        """
        deadline_s = boottime_s() + timeout_s
        backoff = Backoff()
        while True:
            try:
                with self._reached():
                    exist = await self._rows.exist()
                if not exist:
                    raise Refused(f"the registry {self.url} has no table registry_lease; run `shoal db init` on it")
                await self._prove()
                break
            except Denied:
                raise
            except Unavailable:
                pause_s = backoff.next_pause_s(random.random())  # noqa: S311 - jitter
                if boottime_s() + pause_s > deadline_s:
                    raise
                await asyncio.sleep(pause_s)
        self._listening = asyncio.create_task(self._listener.run(), name="registry-listener")
        self._tasks = [asyncio.create_task(self._renew(), name="registry-lease"), self._listening]

    def use(self, ears: Listener) -> None:
        if Address.of(ears.url).arguments == self._address.arguments and self._listening is not None:
            ears.share(CHANNEL, self._notified, self._renew_over)
            self._listening.cancel()

    async def close(self) -> None:
        """Delete our entry and close both connections."""
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=_CLOSE_S)
        self._tasks = []
        for alarm in self._alarms.values():
            alarm.cancel()
        with contextlib.suppress(ShoalError, TimeoutError):
            async with asyncio.timeout(_CLOSE_S):
                await self.unregister()
        await self._line.close()
        self._contact.over()

    async def register(self, heartbeat: Heartbeat) -> None:
        """Create our entry. If this raises `Unavailable`, the entry still appears as soon as the database answers."""
        self._wanted = heartbeat
        await self._prove()
        with self._reached():
            await self._rows.delete_expired()

    async def update(self, heartbeat: Heartbeat) -> None:
        """Write what other nodes act upon now, or when the database answers again; the rest with the next renewal.

        Does nothing before `register`.
        """
        if self._wanted is None:
            return
        self._wanted = heartbeat
        if self._contact.up and (self._announced is None or _acted_on(heartbeat) != _acted_on(self._announced)):
            with contextlib.suppress(Unavailable):
                await self._prove()

    async def unregister(self) -> None:
        """Delete our entry. If this raises `Unavailable`, it is deleted when the database answers, or lapses."""
        self._wanted = None
        await self._prove()

    async def members(self, kind: NodeKind) -> list[Heartbeat]:
        """A fresh read, which also sets the alarm for the first lease that may lapse."""
        with self._reached():
            rows = await self._rows.leases(kind)
        if not self._contact.up:
            self._wake.set()  # the database is back: the next renewal need not wait any longer
        if kind in self._alarms:
            self._alarms.pop(kind).cancel()
        if rows:
            first_s = min(lasts_s for _, _, lasts_s in rows) + _ALARM_MARGIN_S
            self._alarms[kind] = asyncio.get_running_loop().call_later(first_s, self.changed.set)
        return self._entries.read(kind, ((epoch, heartbeat) for epoch, heartbeat, _ in rows))

    async def read_mark(self) -> str | None:
        with self._reached():
            return await self._rows.mark()

    async def set_mark(self, mark: str) -> str:
        with self._reached():
            return await self._rows.set_mark(mark)

    def remember(self, text: str | None) -> None:
        """Nothing."""

    async def remembered(self) -> str | None:
        return None

    async def forget(self) -> None:
        """There is nothing."""

    async def _renew(self) -> None:
        """Renew the lease, and retry while the database is unavailable, until cancelled."""
        backoff = Backoff()
        while True:
            if self._contact.up:
                due_s = max(0.0, self._renew_every_s - self._contact.silent_s)
            else:
                due_s = backoff.next_pause_s(random.random())  # noqa: S311 - jitter
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(due_s):
                    await self._wake.wait()
            if not self._wake.is_set() and self._contact.up and self._contact.silent_s < self._renew_every_s:
                continue  # it was renewed meanwhile, over the connection that listens
            self._wake.clear()
            was_up = self._contact.up
            try:
                await self._prove()
            except Exception as error:  # noqa: BLE001 - whatever the error, the lease must be retried
                self._disconnected(error)
                continue
            backoff.reset()
            if not was_up:
                log.info("registry_connected", registry=self.url)
                self.changed.set()

    async def _renew_over(self, connection: Connection) -> None:
        """Show that a connection works by the statement that is due anyway. Raises what psycopg raises, and
        `TimeoutError`.

        Not while the database is away or our lease is to be deleted: `_prove` knows what to do then. Neither waits for
        the other for long: this one stands for notifications, and `_prove` must come before the lease lapses.
        """
        if self._entry_lock.locked():
            await probe(connection)
            return
        async with self._entry_lock, asyncio.timeout(self._renew_every_s / 2):
            heartbeat, sent_s = self._wanted, boottime_s()
            if heartbeat is None or self._announced is None or not self._contact.up:
                await probe(connection)
                return
            entry = write_entry(heartbeat)
            await self._rows.renew_over(connection, heartbeat.kind, heartbeat.epoch, entry, self._session_timeout)
            self._contact.proved(sent_s)

    async def _prove(self) -> None:
        """Bring our lease to its wanted state, by a round trip that proves that the database knows us."""
        async with self._entry_lock:
            sent_s = boottime_s()
            with self._reached():
                if self._wanted is not None:
                    await self._write(self._wanted)
                elif self._written is not None:
                    await self._rows.delete_lease(self._written.kind, self._written.epoch)
                    self._written = self._announced = None
                else:
                    await self._rows.probe()
            self._contact.proved(sent_s)

    async def _write(self, heartbeat: Heartbeat) -> None:
        self._written = heartbeat
        seen = self._announced
        await self._rows.write_lease(
            heartbeat.kind,
            heartbeat.epoch,
            write_entry(heartbeat),
            self._session_timeout,
            announce=seen is None or (seen.status, seen.groups) != (heartbeat.status, heartbeat.groups),
        )
        self._announced = heartbeat

    @contextlib.contextmanager
    def _reached(self) -> Iterator[None]:
        """Around a statement: records that the database did not answer, and says so of the registry."""
        try:
            yield
        except Unavailable as error:
            self._disconnected(error)
            if isinstance(error, Denied):
                raise Denied(f"cannot use the registry {self.url}: {error}") from error
            raise Unavailable(f"the registry {self.url} is away: {error}") from error

    def _disconnected(self, error: Exception) -> None:
        if self._contact.up:
            self._contact.up = False
            self._wake.set()
            log.warning("registry_disconnected", registry=self.url, error=str(error), so="members are as last read")

    def _notified(self, payload: str) -> None:
        """A node came, went or changed; "" = we listen again, and the server may have lost our lease."""
        self.changed.set()
        if not payload:
            self._wake.set()


def _acted_on(heartbeat: Heartbeat) -> tuple[object, ...]:
    """What decides of a slot, or shows one; the rest of a heartbeat may be a few seconds old."""
    return heartbeat.status, heartbeat.groups, heartbeat.slot_current, heartbeat.slot_total
