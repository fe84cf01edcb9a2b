"""The names of the channels for wakes by PostgreSQL. A payload hints at who should check; empty means everybody.

A transaction collects its notifications and sends them with its COMMIT: NOTIFY takes a global lock, and each statement
costs a round trip. What a node's transactions changed they do not send themselves (`announcer.py`).
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager

from dao.postgres.announcer import EVERYTHING, Announcer
from dao.postgres.pipeline import Statement
from dao.postgres.pool import AsyncConnection
from dao.postgres.sql import Sql
from model.changes import Changes

COMMAND = "shoal_command"
"""Commands were inserted (a trigger in `sql/schema.sql`)."""
TASK = "shoal_task"
"""Tasks were queued; payload: their worker groups, and where in the queue they are (`model/runs/queue_places.py`)."""
POOL = "shoal_pool"
"""Attempts wait for resources of a pool, or some became free (`free_resources`); payload: their worker groups."""
EVENT = "shoal_event"
"""Attempts ended; payload: the epochs of the masters that own their workflows."""
KILL = "shoal_kill"
"""Workers are asked to kill tasks."""
SCHEDULE = "shoal_schedule"
"""Schedules were made or changed."""
NODE = "shoal_node"
"""The life of a node ended: masters do the failover of its work."""
DRAIN = "shoal_drain"
"""A master or worker is to be drained, or no longer: all nodes beat, and read it."""
ALERT = "shoal_alert"
"""Alerts were written (a trigger in `sql/schema.sql`), or are to be sent again."""
ALERT_CHANGED = "shoal_alert_changed"
"""What became of alerts, or what people have set about them, for those who watch. No `CHANGED`: that of a former
version would have all who watch read everything again."""
DEPENDENCY = "shoal_dependency"
"""A task or run ended, and DEPENDENT tasks wait."""

CHANGED = "shoal_changed"
"""What a transaction changed, for those who watch (`model/changes.py`)."""


_NOTIFY = Sql("""
    SELECT count(pg_notify(channel, payload))
    FROM unnest(CAST(:channels AS text[]), CAST(:payloads AS text[])) AS n (channel, payload)
""")
# The lock of NOTIFY is held until the commit: it does not wait for the disk, since it has nothing to store.
_ANNOUNCE = Sql("""
    SELECT set_config('synchronous_commit', 'off', true), count(pg_notify(:channel, payload))
    FROM unnest(CAST(:payloads AS text[])) AS payload
""")
_PAYLOAD_BYTES_MAX = 7_000
"""PostgreSQL accepts just under 8,000 bytes."""
_KEY = "shoal_notices"


class Notices:
    """The notifications of one transaction, and what it changed. With an announcer, that is announced after the commit
    and by the announcer."""

    def __init__(self, announcer: Announcer | None = None) -> None:
        self._announcer = announcer
        self.changes = Changes()
        self.texts: dict[tuple[str, str], None] = {}
        self._hints: dict[str, set[str]] = {}

    def hint(self, channel: str, hints: Iterable[object]) -> None:
        """Add hints for a channel; none = everybody."""
        self._hints.setdefault(channel, set()).update({str(hint) for hint in hints} or {""})

    def statements(self) -> list[Statement]:
        """What sends them all."""
        notices = [*((channel, _joined(hints)) for channel, hints in self._hints.items()), *self.texts]
        if self._announcer is None:
            notices += ((CHANGED, payload) for payload in self.changes.payloads())
        if not notices:
            return []
        channels, payloads = zip(*notices, strict=True)
        return [(_NOTIFY, {"channels": list(channels), "payloads": list(payloads)})]

    def announce_within(self) -> None:
        """Announce the changes in the transaction itself, and those of earlier ones that are not announced yet."""
        if self._announcer is not None:
            self.changes.add(self._announcer.unannounced)
            self._announcer = None

    def committed(self) -> None:
        """To be called after the commit."""
        if self._announcer is not None:
            self._announcer.committed(self.changes)

    def in_doubt(self) -> None:
        """To be called if the outcome of the commit is unknown."""
        if self._announcer is not None:
            self._announcer.in_doubt(self.changes)


def _joined(hints: set[str]) -> str:
    payload = "" if "" in hints else ",".join(sorted(hints))
    return payload if len(payload.encode()) <= _PAYLOAD_BYTES_MAX else ""


@contextmanager
def collecting(connection: AsyncConnection, announcer: Announcer | None) -> Iterator[Notices]:
    """Collect the notifications of a transaction during the block; they are to be sent with its COMMIT."""
    info = connection.info
    info[_KEY] = notices = Notices(announcer)
    try:
        yield notices
    finally:
        info.pop(_KEY, None)


@asynccontextmanager
async def _notices(connection: AsyncConnection) -> AsyncIterator[Notices]:
    """Those of this transaction; outside one they are sent at the end of the block."""
    collected: Notices | None = connection.info.get(_KEY)
    notices = collected or Notices()
    yield notices
    for statement, values in notices.statements() if collected is None else ():
        await connection.execute(statement, values)


async def notify(connection: AsyncConnection, channel: str, hints: Iterable[object] = ()) -> None:
    """Wake the listeners when this transaction commits. No hints = everybody."""
    async with _notices(connection) as notices:
        notices.hint(channel, hints)


async def notify_each(connection: AsyncConnection, channel: str, payloads: Iterable[str]) -> None:
    """Send each of these payloads to the listeners when this transaction commits."""
    async with _notices(connection) as notices:
        notices.texts.update(dict.fromkeys((channel, payload) for payload in payloads))


async def changed(connection: AsyncConnection, changes: Changes) -> None:
    """Say what this transaction changed, to those who watch: when it commits, or of a node's transaction soon after."""
    async with _notices(connection) as notices:
        notices.changes.add(changes)


async def announce_last_changes(connection: AsyncConnection) -> None:
    """The transaction ends the life of its node: announce in it what the node changed and has not announced yet."""
    async with _notices(connection) as notices:
        notices.announce_within()


async def announce_everything(connection: AsyncConnection) -> None:
    """Say when this transaction commits that anything may have changed: nobody knows what a dead node changed last."""
    await notify_each(connection, CHANGED, [EVERYTHING])


def announcer_on(reading: Callable[[], AbstractAsyncContextManager[AsyncConnection]]) -> Announcer:
    """An announcer that sends with one statement, on a connection in autocommit."""

    async def send(payloads: Sequence[str]) -> None:
        async with reading() as connection:
            await connection.execute(_ANNOUNCE, {"channel": CHANGED, "payloads": list(payloads)})

    return Announcer(send)


def concerns(payload: str, mine: Iterable[object]) -> bool:
    """Whether a notification with this payload is meant for one of `mine`."""
    return not payload or not {str(each) for each in mine}.isdisjoint(payload.split(","))
