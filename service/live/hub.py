"""The hub of one process: one LISTEN connection, and any number of listeners.

A notification says what changed. The hub collects for a moment, reads what its listeners watch, and adds the events to
the queue of each listener that may see them. It never waits for a listener.
"""

from __future__ import annotations

import asyncio
import secrets
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Hashable, Iterable, Iterator, Mapping
from contextlib import contextmanager

import structlog

from dao.postgres.database import Database
from dao.postgres.listen import Listener
from dao.postgres.notify import ALERT, ALERT_CHANGED, CHANGED, COMMAND
from model.changes import Changes, read_changes
from model.errors import Refused, ShoalError, Unavailable
from service.live.listening import Listening
from service.live.reading import Reader
from service.live.ring import EVERYBODY, Event, Ring
from service.live.topics import checked_topics

log = structlog.get_logger()

Recheck = Callable[[frozenset[Hashable]], Awaitable[Mapping[Hashable, frozenset[str] | None]]]
"""Of these callers: the projects that each may see now, None = all. One that may no longer listen is missing."""


class Hub:
    """Events for listeners. Call `run` once; it works until it is cancelled.

    Args:
        database: what is read, with one connection at a time.
        recheck: asked for all callers at once, every `RECHECK_S`; None = rights never change.
    """

    WINDOW_S = 0.05
    """How long changes are collected before they are read."""
    WINDOW_S_MAX = 0.5
    READING_SHARE = 0.03
    """The share of its time that the hub may read: if reading takes long, it collects for longer, and a run that
    changed twice meanwhile is read once. With 0.1 it cost the throughput of a machine with two processors 5 %."""
    RECHECK_S = 3.0
    RECHECK_WITHIN_S = 1.5
    """Together less than five seconds."""
    LINGER_S = 30.0
    """A topic is still read for so long after its last listener left, so that one that comes back misses nothing."""
    RING_BYTES_MAX = 16_000_000

    def __init__(self, database: Database, recheck: Recheck | None = None) -> None:
        self._database = database
        self._recheck = recheck
        self._ring = Ring(secrets.token_hex(6), self.RING_BYTES_MAX)
        self._reader = Reader()
        self._listeners: set[Listening] = set()
        self._watching: Counter[str] = Counter()
        self._watched_since: dict[str, int] = {}
        """The topics that are read, and the number of the last event before that."""
        self._pending = Changes()
        self._wake = asyncio.Event()
        self._rights_known = asyncio.Event()
        self._rights_known.set()
        heard = {
            CHANGED: self._changed,
            COMMAND: self._command_inserted,
            ALERT: self._alerts_changed,
            ALERT_CHANGED: self._alerts_changed,
        }
        self.ears = Listener(database.url, f"{database.application_name}-live", heard)

    @contextmanager
    def listen(
        self,
        topics: Iterable[str],
        last_event_id: str | None = None,
        allowed: frozenset[str] | None = None,
        caller: Hashable | None = None,
    ) -> Iterator[Listening]:
        """Listen for the block. Begins after the event with that id, or with `resync` if that is not possible.

        `allowed` are the projects that the caller may see, None = all. Raises `Refused` for an unknown topic.
        """
        listening = Listening(checked_topics(topics), allowed, caller)
        for topic in listening.topics:
            self._watched_since.setdefault(topic, self._ring.number)
            self._watching[topic] += 1
        self._listeners.add(listening)
        if last_event_id is not None:
            listening.offer(self._missed(listening.topics, last_event_id))
        try:
            yield listening
        finally:
            self._listeners.discard(listening)
            self._watching.subtract(listening.topics)
            asyncio.get_running_loop().call_later(self.LINGER_S, self._unwatch, listening.topics)

    @property
    def listeners(self) -> int:
        return len(self._listeners)

    async def run(self) -> None:
        """Serve the listeners until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self.ears.run())
            group.create_task(self._read_on())
            if self._recheck is not None:
                group.create_task(self._recheck_on(self._recheck))

    def _missed(self, topics: Collection[str], last_event_id: str) -> list[Event]:
        last = self._ring.number_of(last_event_id)
        if last is None or any(self._watched_since[topic] > last for topic in topics):
            return [self._ring.make("", "resync", EVERYBODY, {}, self._ring.number)]
        return self._ring.after(last)

    def _unwatch(self, topics: Iterable[str]) -> None:
        for topic in topics:
            if self._watching[topic] <= 0:
                del self._watching[topic]
                self._watched_since.pop(topic, None)

    def _changed(self, payload: str) -> None:
        try:
            changes = read_changes(payload) if payload else None
        except Refused as error:
            log.warning("notification_unreadable", error=str(error), so="all listeners read everything again")
            changes = None
        if changes is None:
            self._resync()
        else:
            self._collect(changes)

    def _resync(self) -> None:
        """Something may have changed that the listeners do not hear of."""
        self._reader.reset()
        self._publish([self._ring.add("", "resync", EVERYBODY, {})])

    def _command_inserted(self, _payload: str) -> None:
        self._collect(Changes(queue=True))

    def _alerts_changed(self, _payload: str) -> None:
        self._collect(Changes(alerts=True))

    def _collect(self, changes: Changes) -> None:
        if self._watched_since:
            self._pending.add(changes)
            self._wake.set()

    async def _read_on(self) -> None:
        clock_s = asyncio.get_running_loop().time
        rests_until_s = 0.0
        while True:
            await self._wake.wait()
            await asyncio.sleep(max(self.WINDOW_S, rests_until_s - clock_s()))
            await self._rights_known.wait()
            self._wake.clear()
            changes, self._pending = self._pending, Changes()
            began_s = clock_s()
            try:
                news = await self._database.read(self._reader.read, changes, self._watched_since)
            except Unavailable as error:
                log.warning("live_reading_failed", error=str(error), so="it is tried again")
                self._reader.reset()
                self._collect(changes)
                rests_until_s = clock_s() + self.WINDOW_S_MAX
                continue
            except Exception as error:
                log.exception("live_reading_failed", error=str(error), so="all listeners read everything again")
                self._resync()
                rests_until_s = clock_s() + self.WINDOW_S_MAX
                continue
            self._publish([self._ring.add(*each) for each in news])
            rests_until_s = clock_s() + min(self.WINDOW_S_MAX, (clock_s() - began_s) / self.READING_SHARE)

    def _publish(self, events: list[Event]) -> None:
        for listening in self._listeners:
            listening.offer(events)

    async def _recheck_on(self, recheck: Recheck) -> None:
        """While rights cannot be read, nothing is sent."""
        while True:
            await asyncio.sleep(self.RECHECK_S if self._rights_known.is_set() else 1.0)
            callers = frozenset(each.caller for each in self._listeners if each.caller is not None)
            try:
                async with asyncio.timeout(self.RECHECK_WITHIN_S):
                    allowed = await recheck(callers) if callers else {}
            except (ShoalError, TimeoutError) as error:
                log.warning("rights_unknown", error=str(error), so="listeners get nothing until they are known")
                self._rights_known.clear()
                continue
            for listening in self._listeners:
                if listening.caller not in callers:
                    continue
                if listening.caller in allowed:
                    listening.allowed = allowed[listening.caller]
                else:
                    listening.end("its rights were taken away")
            self._rights_known.set()
