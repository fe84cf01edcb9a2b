"""The registry: sessions with an expiry, ephemeral entries, and watches that may be late or never come.

`Ensemble` is the servers, `SimulatedRegistry` what a node holds of it, with the rule of `registry/contact.py`.
"""

from __future__ import annotations

import asyncio
from datetime import timedelta
from random import Random

from model.cluster.nodes import Heartbeat, NodeKind
from model.errors import Unavailable
from model.ids import Epoch
from registry.clock import boottime_s
from registry.contact import Contact
from registry.protocol import ConnectionState
from tests.simulation.loop import PROCESS, Process, VirtualLoop
from tests.simulation.trace import Trace


class Ensemble:
    """Entries by kind and epoch, each with the number of its session."""

    def __init__(self, loop: VirtualLoop, random: Random, trace: Trace) -> None:
        self.is_down = False
        self.cut_off: set[str] = set()
        """Addresses of processes that cannot reach it."""
        self.deaf = 0.0
        """The probability that a watch goes deaf at a change; it stays so until it connects again."""
        self.phantoms = 0.0
        """The probability that an entry outlives its session forever."""
        self.generation = 0
        """How often it was wiped."""
        self.stays_down = False
        """Whether an end of an outage must not end it: another one goes on."""
        self.entries: dict[tuple[NodeKind, Epoch], tuple[Heartbeat, int]] = {}
        self.clients: list[SimulatedRegistry] = []
        self.loop = loop
        self.random = random
        self.trace = trace
        self._sessions: dict[int, float] = {}
        self._last_session = 0

    def reaches(self, process: Process) -> bool:
        return not self.is_down and process.name not in self.cut_off

    def open_session(self, timeout_s: float) -> int:
        self._last_session += 1
        self._sessions[self._last_session] = self.loop.now
        self._look_later(self._last_session, timeout_s)
        return self._last_session

    def touch(self, session: int) -> bool:
        """A ping; whether the session still lives."""
        if session in self._sessions:
            self._sessions[session] = self.loop.now
        return session in self._sessions

    def end_session(self, session: int) -> None:
        """Expire or close a session; its entries vanish."""
        if self._sessions.pop(session, None) is not None:
            for key in [key for key, (_, owner) in self.entries.items() if owner == session]:
                if self.random.random() < self.phantoms:
                    self.trace.add("registry", f"{key[0].lower()} {key[1]} stays as a phantom")
                    continue
                self.trace.add("registry", f"{key[0].lower()} {key[1]} is gone")
                del self.entries[key]
            self.changed()

    def wipe(self) -> None:
        """New servers with empty folders: no entry and no session is known, and who knew the former ones is refused
        until it takes its session for over."""
        self.trace.add("registry", "is wiped")
        self.generation += 1
        self.entries.clear()
        self._sessions.clear()

    def come_back(self) -> None:
        """After an outage all sessions begin to count again."""
        if self.stays_down:
            return
        self.is_down = False
        for session in self._sessions:
            self._sessions[session] = self.loop.now

    def changed(self) -> None:
        """The watches fire, each in its time, or not."""
        for client in list(self.clients):
            client.is_deaf = client.is_deaf or self.random.random() < self.deaf
            if not client.is_deaf and client.is_answered():
                self.loop.in_world(self.random.random() ** 3, client.changed.set)

    def _look_later(self, session: int, timeout_s: float) -> None:
        """Expiry is never early, and late by up to a third: the servers count in ticks."""

        def look() -> None:
            last_s = self._sessions.get(session)
            if last_s is None:
                return
            if not self.is_down and self.loop.now - last_s >= timeout_s:
                self.end_session(session)
            else:
                self._look_later(session, timeout_s)

        last_s = self._sessions[session]
        wait_s = max(0.1, last_s + timeout_s * (1 + self.random.random() / 3) - self.loop.now)
        self.loop.in_world(wait_s, look)


class SimulatedRegistry:
    """Implements `registry/protocol.py`."""

    url = "simulated"

    def __init__(self, ensemble: Ensemble, session_timeout: timedelta) -> None:
        process = PROCESS.get()
        assert process is not None
        self.process = process
        self.changed = asyncio.Event()
        self.is_deaf = False
        self._ensemble = ensemble
        self._timeout_s = session_timeout.total_seconds()
        self._contact = Contact(session_timeout)
        self._session = 0
        self._generation = 0
        self._mine: Heartbeat | None = None
        self._pings: asyncio.Task[None] | None = None

    @property
    def state(self) -> ConnectionState:
        return self._contact.state

    @property
    def last_contact(self) -> float:
        return self._contact.last_s

    @property
    def unbroken_since(self) -> float:
        return self._contact.unbroken_since_s

    def is_answered(self) -> bool:
        """Whether there are servers that it reaches and that do not refuse it."""
        return self._ensemble.reaches(self.process) and self._generation == self._ensemble.generation

    async def open(self, timeout_s: float) -> None:
        deadline_s = boottime_s() + timeout_s
        while not await self._ping():
            if boottime_s() > deadline_s:
                raise Unavailable("the registry does not answer")
            await asyncio.sleep(0.5)
        self._ensemble.clients.append(self)
        self._pings = asyncio.get_running_loop().create_task(self._keep_alive())

    def use(self, ears: object) -> None:
        """Do nothing: it is not in the database."""

    async def close(self) -> None:
        self._mine = None
        if self in self._ensemble.clients:
            self._ensemble.clients.remove(self)
        if self._pings is not None:
            self._pings.cancel()
        if self.is_answered():
            self._ensemble.end_session(self._session)
        self._contact.over()

    async def register(self, heartbeat: Heartbeat) -> None:
        self._mine = heartbeat
        await self._reached()
        self._write()

    async def update(self, heartbeat: Heartbeat) -> None:
        if self._mine is not None:
            self._mine = heartbeat
            if self.is_answered() and self._contact.state is ConnectionState.CONNECTED:
                self._write()

    async def unregister(self) -> None:
        mine, self._mine = self._mine, None
        await self._reached()
        if mine is not None and (mine.kind, mine.epoch) in self._ensemble.entries:
            del self._ensemble.entries[mine.kind, mine.epoch]
            self._ensemble.changed()

    async def members(self, kind: NodeKind) -> list[Heartbeat]:
        await self._reached()
        found = [heartbeat for (each, _), (heartbeat, _) in self._ensemble.entries.items() if each is kind]
        return sorted(found, key=lambda heartbeat: heartbeat.epoch)

    async def read_mark(self) -> str | None:
        """There is one ensemble, and it is the cluster's."""
        return None

    async def set_mark(self, mark: str) -> str:
        return mark

    def remember(self, text: str | None) -> None:
        """No database is restored while all nodes are stopped."""

    async def remembered(self) -> str | None:
        return None

    async def forget(self) -> None:
        """There is nothing."""

    async def _reached(self) -> None:
        if self._ensemble.random.random() < 0.3:
            await asyncio.sleep(self._ensemble.random.random() * 0.02)
        if not self.is_answered() or self._contact.state is not ConnectionState.CONNECTED:
            raise Unavailable("the registry does not answer")

    def _write(self) -> None:
        assert self._mine is not None
        key = (self._mine.kind, self._mine.epoch)
        before = self._ensemble.entries.get(key)
        self._ensemble.entries[key] = (self._mine, self._session)
        if before is None:
            self._ensemble.changed()

    async def _keep_alive(self) -> None:
        while True:
            await asyncio.sleep(self._timeout_s / 3)
            await self._ping()

    async def _ping(self) -> bool:
        sent_s = boottime_s()
        if self._contact.state is ConnectionState.LOST:
            self._generation = self._ensemble.generation
        if not self.is_answered():
            self._contact.up = False
            return False
        was_up = self._contact.state is ConnectionState.CONNECTED
        if not self._ensemble.touch(self._session):
            self._contact.over()
            self._session = self._ensemble.open_session(self._timeout_s)
        if self._mine is not None:  # also what it could not write while no server answered
            self._write()
        if self._ensemble.random.random() < 0.2:
            await asyncio.sleep(self._ensemble.random.random() * 0.05)
        self._contact.proved(sent_s)
        if not was_up:
            self.is_deaf = False
            self.changed.set()
        return True
