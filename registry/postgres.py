"""The registry in PostgreSQL: leases in the table `registry_lease`, for a laptop and for clusters without ZooKeeper.

An entry is alive until `expires_at`, compared with the database's clock, never with a node's own. The keeper renews our
lease every third of the session time-out, unless another write renewed it meanwhile: an idle node sends the database
about three statements in ten seconds. Nodes that come or go, and changes that other nodes act upon, are notified at
once. A process that dies sends nothing, so a reader sets an alarm for the first lease that may lapse.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
from datetime import timedelta
from typing import Any, LiteralString

import structlog

from dao.postgres.database import shown
from dao.postgres.listen import Listener
from model.backoff import Backoff
from model.errors import Denied, Refused, ShoalError, Unavailable
from model.nodes import Heartbeat, NodeKind
from registry.contact import Contact, boottime_s
from registry.entry import EntryReader, write_entry
from registry.protocol import ConnectionState
from registry.query_line import QueryLine

log = structlog.get_logger()

CHANNEL = "shoal_registry"
_CLOSE_S = 2.0
_ALARM_MARGIN_S = 0.05

# One statement for a first lease, a renewal, and a lease that was deleted. Notifies when other nodes could not see us
# before, or when requested.
_HOLD = """
    WITH seen AS (
        SELECT FROM registry_lease
        WHERE kind = %(kind)s AND epoch = %(epoch)s AND expires_at > clock_timestamp()
    ), held AS (
        INSERT INTO registry_lease AS lease (kind, epoch, heartbeat, expires_at)
        VALUES (%(kind)s, %(epoch)s, %(heartbeat)s, clock_timestamp() + %(lasts)s)
        ON CONFLICT (kind, epoch) DO UPDATE SET heartbeat = excluded.heartbeat, expires_at = excluded.expires_at
    )
    SELECT pg_notify(%(channel)s, %(kind)s) WHERE %(announce)s OR NOT EXISTS (SELECT FROM seen)
"""
_RELEASE = """
    WITH released AS (DELETE FROM registry_lease WHERE kind = %(kind)s AND epoch = %(epoch)s RETURNING kind)
    SELECT pg_notify(%(channel)s, kind) FROM released
"""
_SWEEP = "DELETE FROM registry_lease WHERE expires_at < clock_timestamp() - interval '1 minute'"
_READ_MARK = "SELECT mark FROM cluster"
_HOLD_MARK = """
    INSERT INTO cluster AS c (mark) VALUES (%(mark)s)
    ON CONFLICT (only_one) DO UPDATE SET mark = coalesce(c.mark, excluded.mark) RETURNING mark
"""
_HAS_TABLE = "SELECT to_regclass('registry_lease')::text"
_PROBE = "SELECT FROM registry_lease LIMIT 1"
_MEMBERS = """
    SELECT epoch::text, heartbeat, extract(epoch FROM expires_at - clock_timestamp())::float8 AS lasts_s
    FROM registry_lease
    WHERE kind = %(kind)s AND expires_at > clock_timestamp()
"""


class PostgresRegistry:
    """`registry.protocol.Registry` by PostgreSQL.

    Args:
        url: the database, in SQLAlchemy's form.
        session_timeout: how long a lease lasts.
        application_name: the name of our connections in the database; the one that listens gets "-listen" added.
    """

    def __init__(self, url: str, *, session_timeout: timedelta, application_name: str) -> None:
        self.url = shown(url)
        self.changed = asyncio.Event()
        self._session_timeout = session_timeout
        self._renew_every_s = session_timeout.total_seconds() / 3
        self._contact = Contact(session_timeout)
        self._entries = EntryReader(self.url)
        self._line = QueryLine(url, application_name, answer_within_s=max(2.0, self._renew_every_s))
        self._listener = Listener(url, f"{application_name}-listen", {CHANNEL: self._notified})
        self._tasks: list[asyncio.Task[None]] = []
        self._wake = asyncio.Event()
        self._entry_lock = asyncio.Lock()
        self._wanted: Heartbeat | None = None
        self._held: Heartbeat | None = None
        """A lease that may exist, wanted or not."""
        self._announced: Heartbeat | None = None
        self._alarms: dict[NodeKind, asyncio.TimerHandle] = {}

    @property
    def state(self) -> ConnectionState:
        """See the protocol."""
        return self._contact.state

    @property
    def last_contact(self) -> float:
        """See the protocol."""
        return self._contact.last_s

    @property
    def unbroken_since(self) -> float:
        """See the protocol."""
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
                if (await self._ask(_HAS_TABLE))[0][0] is None:
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
        self._tasks = [
            asyncio.create_task(self._keep(), name="registry-keeper"),
            asyncio.create_task(self._listener.run(), name="registry-listener"),
        ]

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
        await self._ask(_SWEEP)

    async def update(self, heartbeat: Heartbeat) -> None:
        """Write the latest heartbeat, now or when the database answers again. Does nothing before `register`."""
        if self._wanted is None:
            return
        self._wanted = heartbeat
        if self._contact.up:
            with contextlib.suppress(Unavailable):
                await self._prove()

    async def unregister(self) -> None:
        """Delete our entry. If this raises `Unavailable`, it is deleted when the database answers, or lapses."""
        self._wanted = None
        await self._prove()

    async def members(self, kind: NodeKind) -> list[Heartbeat]:
        """A fresh read, which also sets the alarm for the first lease that may lapse."""
        rows = await self._ask(_MEMBERS, kind=kind.value)
        if not self._contact.up:
            self._wake.set()  # the database is back: the keeper need not wait any longer
        if kind in self._alarms:
            self._alarms.pop(kind).cancel()
        if rows:
            first_s = min(lasts_s for _, _, lasts_s in rows) + _ALARM_MARGIN_S
            self._alarms[kind] = asyncio.get_running_loop().call_later(first_s, self.changed.set)
        return self._entries.read(kind, ((epoch, heartbeat) for epoch, heartbeat, _ in rows))

    async def read_mark(self) -> str | None:
        """See the protocol."""
        rows = await self._ask(_READ_MARK)
        return rows[0][0] if rows else None

    async def hold_mark(self, mark: str) -> str:
        """See the protocol."""
        return str((await self._ask(_HOLD_MARK, mark=mark))[0][0])

    async def _keep(self) -> None:
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

    async def _prove(self) -> None:
        """Bring our lease to its wanted state, by a round trip that proves that the database knows us."""
        async with self._entry_lock:
            sent_s = boottime_s()
            if self._wanted is not None:
                await self._hold(self._wanted)
            elif self._held is not None:
                await self._ask(_RELEASE, kind=self._held.kind.value, epoch=self._held.epoch, channel=CHANNEL)
                self._held = self._announced = None
            else:
                await self._ask(_PROBE)
            self._contact.proved(sent_s)

    async def _hold(self, heartbeat: Heartbeat) -> None:
        self._held = heartbeat
        said = self._announced
        await self._ask(
            _HOLD,
            kind=heartbeat.kind.value,
            epoch=heartbeat.epoch,
            heartbeat=write_entry(heartbeat),
            lasts=self._session_timeout,
            announce=said is None or (said.status, said.groups) != (heartbeat.status, heartbeat.groups),
            channel=CHANNEL,
        )
        self._announced = heartbeat

    async def _ask(self, statement: LiteralString, **parameters: object) -> list[tuple[Any, ...]]:
        try:
            return await self._line.ask(statement, parameters)
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
