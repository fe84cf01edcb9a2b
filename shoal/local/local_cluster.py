"""Masters, workers, an API and a sender of alerts on this machine, each a process: started, killed, restarted, stopped.

Used by `shoal up`, `shoal demo` and the tests. A child belongs to its starter: the kernel sends it SIGKILL when the
thread that started it ends, even by kill -9. It has its own session, so that a Ctrl-C on the terminal reaches only the
starter, which then stops its children in order. The database's URL is passed in the environment, never as an
argument: every user of the machine can read arguments.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from dao.cluster import nodes
from dao.cluster.node_rows import NodeRow
from dao.postgres.database import Database
from model.cluster.nodes import NodeKind
from model.cluster.slots import Slot
from model.errors import Unavailable
from shoal.embedded.program import end_with_us, last_words
from shoal.secrecy import without_keys

LOOK_EVERY_S = 0.05
LAST_LINES = 20
"""How many lines of a child's log are searched for its last message."""
_NOT_FOR_PEOPLE = {"event", "timestamp", "level", "exception", "master", "worker", "name", "epoch"}


NoNode = Literal["API", "ALERT"]
"""A process without a row in the database: nobody waits for it to join."""
API: Literal["API"] = "API"
ALERT: Literal["ALERT"] = "ALERT"
SERVES = "the API serves at"
"""The log text of an API once it listens."""
SENDS = "sends_alerts"
"""The log event of a sender once it works."""
_SAYS: Mapping[NodeKind | NoNode, str] = {API: SERVES, ALERT: SENDS}
_LETTERS: Mapping[NodeKind | NoNode, str] = {ALERT: "s"}


@dataclass
class Child:
    """One master, worker, API or sender; it keeps its `name` (m1, w1, a1, s1) when restarted. It ends with the thread
    that started it."""

    name: str
    kind: NodeKind | NoNode
    log: Path
    process: asyncio.subprocess.Process
    settings: Mapping[str, str] = field(default_factory=dict)
    """Additional environment variables of this child."""
    said_before: int = 0
    """The bytes of its log that earlier processes wrote."""

    @property
    def pid(self) -> int:
        return self.process.pid

    @property
    def runs(self) -> bool:
        return self.process.returncode is None

    def send(self, number: signal.Signals) -> None:
        """Send a signal; does nothing when it has ended."""
        with suppress(ProcessLookupError):
            self.process.send_signal(number)

    async def ended(self) -> int:
        """Wait for its end; the exit code, negative for a signal."""
        return await self.process.wait()

    def said(self) -> str:
        """The beginning of what its current process wrote."""
        with self.log.open("rb") as file:
            file.seek(self.said_before if self.said_before <= self.log.stat().st_size else 0)
            return file.read(10_000).decode(errors="replace")

    def last_words(self) -> str:
        """The end of its output, on one line."""
        with self.log.open("rb") as file:
            file.seek(max(0, self.log.stat().st_size - 10_000))
            said = file.read().decode(errors="replace")
        return last_words("\n".join(map(_for_people, said.splitlines()[-LAST_LINES:])))


class LocalCluster:
    """Masters and workers over one database. `async with` stops them all at its end.

    Args:
        database_url: with the schema of this program.
        folder: for logs, and for the workers' files; created if it does not exist.
        registry_url: by default the database's.
        settings: further environment of the children, such as SHOAL_TIMING__HEARTBEAT_EVERY.
    """

    def __init__(
        self,
        database_url: str,
        folder: Path,
        *,
        registry_url: str | None = None,
        settings: Mapping[str, str] | None = None,
    ) -> None:
        self.folder = folder
        self.children: list[Child] = []
        self._environment = {
            **os.environ,
            **(settings or {}),
            "SHOAL_DATABASE_URL": database_url,
            "SHOAL_REGISTRY_URL": registry_url or database_url,
            "SHOAL_PORT": "0",  # a port set for a single process would be used by the first of many
            "SHOAL_WORKER__LOG_PORT": "0",
            "SHOAL_METRICS__PORT": "0",
        }
        self._database = Database(database_url, application_name="shoal-local-cluster", connections_max=1)

    async def __aenter__(self) -> LocalCluster:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    @property
    def masters(self) -> list[Child]:
        """The masters, including ended ones."""
        return [child for child in self.children if child.kind is NodeKind.MASTER]

    @property
    def workers(self) -> list[Child]:
        """The workers, including ended ones."""
        return [child for child in self.children if child.kind is NodeKind.WORKER]

    async def start(self, kind: NodeKind | NoNode, **settings: str) -> Child:
        """Start one more process; `joined` waits until others see it, `answers` until one that is no node works."""
        number = 1 + sum(child.kind is kind for child in self.children)
        name = f"{_LETTERS.get(kind, kind.lower()[0])}{number}"
        log = self.folder / "logs" / f"{name}.log"
        log.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        said_before = _size(log)
        child = Child(name, kind, log, await self._launch(name, kind, log, settings), settings, said_before)
        self.children.append(child)
        return child

    async def start_again(self, child: Child) -> None:
        """Start a new process for a child that has ended."""
        assert not child.runs, f"{child.name} still runs"
        child.said_before = _size(child.log)
        child.process = await self._launch(child.name, child.kind, child.log, child.settings)

    async def joined(self, child: Child, within_s: float = 60) -> NodeRow:
        """Wait until a child has its row, its beat and, as a master, its slot.

        Raises:
            Unavailable: it ended, or took longer than `within_s`; the message quotes it.
        """
        with suppress(TimeoutError):
            async with asyncio.timeout(within_s):
                while child.runs:
                    found = await self._row_of(child)
                    if found is not None:
                        return found
                    await asyncio.sleep(LOOK_EVERY_S)
        what = "has not joined" if child.runs else f"ended with {child.process.returncode} instead of joining"
        raise Unavailable(f"{child.name} {what}: {child.last_words()} (log: {child.log})")

    async def answers(self, child: Child, within_s: float = 60) -> None:
        """Wait until an API or a sender reports that it works. Raises `Unavailable` as `joined`.

        An API's port is not queried, since another process may have it; nor its sockets, which only root sees of a
        process that hides its memory.
        """
        with suppress(TimeoutError):
            async with asyncio.timeout(within_s):
                while child.runs:
                    if _SAYS[child.kind] in child.said():
                        return
                    await asyncio.sleep(LOOK_EVERY_S)
        what = "does not work" if child.runs else f"ended with {child.process.returncode} instead of working"
        raise Unavailable(f"{child.name} {what}: {child.last_words()} (log: {child.log})")

    async def agreed(self, within_s: float = 10) -> dict[str, NodeRow]:
        """The rows of the running masters by name, once their slots are 0 to n-1 of n; after `within_s` as they are."""
        deadline_s = time.monotonic() + within_s
        while True:
            running = [child for child in self.masters if child.runs]
            rows = {child.name: await self.joined(child) for child in running}
            slots = sorted(row.heartbeat.slot for row in rows.values() if row.heartbeat and row.heartbeat.slot)
            if slots == [Slot(current, len(running)) for current in range(len(running))]:
                return rows
            if time.monotonic() > deadline_s:
                return rows
            await asyncio.sleep(LOOK_EVERY_S)

    async def stop(self, within_s: float = 45) -> None:
        """Let all leave gracefully, at the same time; those that take longer than `within_s` are killed."""
        for child in self.children:
            child.send(signal.SIGTERM)
        with suppress(TimeoutError):
            async with asyncio.timeout(within_s):
                await self._all_ended()
        for child in self.children:
            child.send(signal.SIGKILL)
        await self._all_ended()
        await self._database.close()

    async def _all_ended(self) -> None:
        await asyncio.gather(*(child.ended() for child in self.children))

    async def _launch(
        self, name: str, kind: NodeKind | NoNode, log: Path, settings: Mapping[str, str]
    ) -> asyncio.subprocess.Process:
        own = {"SHOAL_NAME": name, "SHOAL_LOG_FILE": str(log), **settings}
        environment = {"SHOAL_WORKER__FOLDER": str(self.folder / name), **self._environment, **own}
        if kind is NodeKind.MASTER:
            environment = without_keys(environment)
        with _appending(log) as output:
            return await asyncio.create_subprocess_exec(
                *(sys.executable, "-P", "-m", "shoal", kind.lower()),
                env=environment,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=output,
                stderr=asyncio.subprocess.STDOUT,
                start_new_session=True,
                preexec_fn=end_with_us(signal.SIGKILL),
            )

    async def _row_of(self, child: Child) -> NodeRow | None:
        try:
            living = await self._database.read(nodes.living)
        except Unavailable:
            return None
        for node in living:
            if (node.kind, node.process.pid) == (child.kind, child.pid) and node.heartbeat is not None:
                has_slot = child.kind is NodeKind.WORKER or node.heartbeat.slot is not None
                return node if has_slot else None
        return None


def _size(log: Path) -> int:
    return log.stat().st_size if log.exists() else 0


def _for_people(line: str) -> str:
    """Format a log line for people: the event and its fields if it is JSON, without its time and traceback."""
    try:
        fields = json.loads(line)
    except ValueError:
        return line
    if not isinstance(fields, dict) or "event" not in fields:
        return line
    event = str(fields["event"]).replace("_", " ")
    shown = "; ".join(f"{name} {value}" for name, value in fields.items() if name not in _NOT_FOR_PEOPLE)
    return f"{event}: {shown}" if shown else event


@contextmanager
def _appending(log: Path) -> Iterator[int]:
    descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW, 0o600)
    try:
        yield descriptor
    finally:
        os.close(descriptor)
