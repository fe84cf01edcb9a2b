"""All that a run of chaos stands on: servers, a proxy for each pair of process and server, masters and workers."""

from __future__ import annotations

import random
import signal
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Literal

import httpx
from sqlalchemy import make_url

from tests.chaos import audit, pool_rules
from tests.chaos.disk import FREE_MIN, SmallDisk
from tests.chaos.ensemble import Ensemble
from tests.chaos.journal import Journal
from tests.chaos.limits import Limits
from tests.chaos.proxy import Gate, Proxies
from tests.chaos.workflows import Kind, kinds
from tests.cluster.cluster import Cluster, Node
from tests.eventually import eventually
from tests.servers.child import free_port
from tests.servers.postgres import PostgresServer

SCHEMA = Path(__file__).parents[2] / "sql" / "schema.sql"
DATABASE = "chaos"
SESSION_S = 2.0
"""The session time-out of these clusters, see `tests/cluster/cluster.py`."""
WORKER_FENCE_S = 5.0
Role = Literal["master", "worker", "api"]
_MANY = Limits()


class Member:
    """A place in the cluster, in which one process lives after the other, always behind the same gates."""

    def __init__(self, site: Site, role: Role, number: int) -> None:
        self.name = f"{role} {number}"
        self.role = role
        self.database = site.proxies.gate(site.postgres.port)
        self.registry = [site.proxies.gate(server.port) for server in site.ensemble.members]
        self.url = ""
        """The URL of an API."""
        self.node: Node | None = None
        self.paused = False
        self.disk: SmallDisk | None = None
        """A worker's own, where one can be had."""
        self._site = site
        database = make_url(site.cluster.environment["SHOAL_DATABASE_URL"]).set(port=self.database.port)
        hosts = ",".join(f"127.0.0.1:{gate.port}" for gate in self.registry)
        self._settings = {
            "SHOAL_CONNECT_TIMEOUT_S": "120",  # who starts in the middle of an outage waits for its end
            "SHOAL_DATABASE_URL": database.render_as_string(hide_password=False),
            "SHOAL_REGISTRY_URL": f"zookeeper://{hosts}/shoal",
        }
        if role == "worker":
            disk = site.disk(f"worker-{number}")
            self.disk = disk if disk.is_there else None
            self._settings |= {
                "SHOAL_WORKER__FOLDER": str(disk.folder),
                "SHOAL_WORKER__LOAD__DISK_FREE_MIN": str(FREE_MIN),
                "SHOAL_WORKER__CAPACITY": str(site.limits.tasks),
                "SHOAL_WORKER__DRAIN": "1",
            }
        elif role == "api":
            port = free_port()
            self._settings["SHOAL_API__PORT"] = str(port)
            self.url = f"http://127.0.0.1:{port}"
        else:
            self._settings["SHOAL_MASTER__MAX_RUNNING_WORKFLOWS"] = str(site.limits.runs)
            if number % 2:  # half of the masters come back under the address of their former life
                self._settings["SHOAL_PORT"] = str(free_port())

    @property
    def gates(self) -> list[Gate]:
        """All of its connections."""
        return [self.database, *self.registry]

    @property
    def epoch(self) -> int | None:
        """The epoch of its latest life; None before it has joined."""
        joined = self.node.events("joined") if self.node is not None else []
        return int(joined[-1]["epoch"]) if joined else None

    @property
    def has_joined(self) -> bool:
        """Whether it takes part: a node in its latest life, an API answers for itself and its database."""
        if self.role != "api":
            return self.epoch is not None
        try:
            return httpx.get(f"{self.url}/readyz", timeout=2, trust_env=False).is_success
        except httpx.TransportError:
            return False

    @property
    def lives(self) -> bool:
        """Whether it has a process."""
        return self.node is not None and self.node.is_alive

    def account(self) -> str:
        """Its state, to explain why something does not happen."""
        if self.node is None:
            return f"{self.name} was never started"
        tail = self.node.log.read_text(errors="replace")[-600:] if self.node.log.exists() else ""
        return f"{self.name}, epoch {self.epoch}, {'runs' if self.lives else 'has ended'}: {tail}"

    def start(self) -> None:
        """Begin a new life, unless it has one; it joins by and by."""
        if not self.lives:
            self.node = Node(self._site.cluster, self.role, len(self._site.cluster.nodes), self._settings)
            self._site.cluster.nodes.append(self.node)
            self._site.owners[self.node.pid] = self.name

    def signal(self, number: signal.Signals) -> None:
        """To its process, if there is one; the test meant it, so its end is no surprise."""
        if self.node is not None:
            if number in (signal.SIGKILL, signal.SIGTERM):
                self._site.ended_on_purpose.add(self.node.pid)
            self.paused = number == signal.SIGSTOP or (self.paused and number != signal.SIGCONT)
            self.node.signal(number)


class Site:
    """Use it as a context: it starts the servers on construction and leaves nothing behind.

    Args:
        folder: for logs, the journal and the workers.
        masters, workers, apis: how many places there are; `start` fills them.
        limits: what each master and worker takes at once.
    """

    def __init__(
        self, folder: Path, *, masters: int = 4, workers: int = 3, apis: int = 0, limits: Limits = _MANY
    ) -> None:
        self.folder = folder
        self.limits = limits
        self.ended_on_purpose: set[int] = set()
        self.owners: dict[int, str] = {}
        self.unkept: set[tuple[str, int]] = set()
        """Attempts whose keepers faults killed, see `Promises.unkept`."""
        self.cramped: set[int] = set()
        """The epochs of workers whose disks faults filled, see `Promises.cramped`."""
        with ExitStack() as stack:
            self._disks = stack.enter_context(ExitStack())  # given back when no process is left
            self.postgres = stack.enter_context(PostgresServer())
            url = self.postgres.create_database(DATABASE)
            with self.postgres.connect(DATABASE) as connection:
                connection.execute(SCHEMA.read_bytes())
                audit.install(connection)
            self.ensemble = stack.enter_context(Ensemble())
            self.proxies = stack.enter_context(Proxies())
            self.cluster = stack.enter_context(Cluster(url, "", folder))
            # The same database and no processes, for the threads that a server which does not answer may hold up.
            self.load_connection = stack.enter_context(Cluster(url, "", folder))
            self.watch_connection = stack.enter_context(Cluster(url, "", folder))
            self.masters = [Member(self, "master", number) for number in range(1, masters + 1)]
            self.workers = [Member(self, "worker", number) for number in range(1, workers + 1)]
            self.apis = [Member(self, "api", number) for number in range(1, apis + 1)]
            self.journal = Journal(folder / "tasks.journal")
            self.kinds: list[Kind] = kinds(self.journal)
            pool_rules.make_pools(self.cluster)
            for kind in self.kinds:
                self.cluster.define(kind.code, kind.name, **kind.spec)
            self._stack = stack.pop_all()

    def __enter__(self) -> Site:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    @property
    def members(self) -> list[Member]:
        """Workers, masters and APIs."""
        return [*self.workers, *self.masters, *self.apis]

    async def start(self) -> None:
        """Fill every place, and wait until all have joined and the slots are given out."""
        for member in self.members:
            member.start()
        await self.whole()

    async def whole(self, within_s: float = 60) -> None:
        """Fill every empty place, and wait until all live, have joined and agree on the slots."""
        for member in self.members:
            member.start()
        await eventually(self._absent, within_s=within_s, until=[])
        await self.cluster.slots_become(len(self.masters), within_s=within_s)

    def _absent(self) -> list[str]:
        """The members that do not take part yet, with the ends of their logs, and living epochs without a member."""
        alive = {epoch for (epoch,) in self.cluster.rows("SELECT id FROM node WHERE state = 'ALIVE'")}
        joined = {member.epoch for member in (*self.workers, *self.masters)}
        absent = [
            each for each in self.members if not each.has_joined or (each.role != "api" and each.epoch not in alive)
        ]
        return [*(each.account() for each in absent), *(f"epoch {epoch} is nobody's" for epoch in alive - joined)]

    def disk(self, name: str) -> SmallDisk:
        """A new one in this site's folder, which goes with it."""
        disk = SmallDisk(self.folder / name)
        self._disks.callback(disk.close)
        return disk

    def heal(self) -> None:
        """Open every gate, wake every stopped process, free every disk, start every missing server."""
        for member in self.members:
            if member.disk is not None:
                member.disk.empty()
            for gate in member.gates:
                gate.lose_commits(0)
                gate.open()
            if member.paused:
                member.signal(signal.SIGCONT)
        if not self.postgres.serves():
            self.postgres.start()
        self.ensemble.start()
        self.ensemble.wait_ready()

    def pick(self, chance: random.Random, role: Role | None = None) -> Member:
        """Any member, or any of that role, that runs undisturbed; any at all if none does."""
        among = {"master": self.masters, "worker": self.workers, "api": self.apis, None: self.members}[role]
        well = [member for member in among if member.lives and not member.paused]
        return chance.choice(well or among)

    def ended_by_themselves(self) -> Iterator[str]:
        """Processes that ended without a request."""
        for node in self.cluster.nodes:
            if not node.is_alive and node.pid not in self.ended_on_purpose:
                tail = node.log.read_text(errors="replace")[-600:]
                yield f"{self.owners[node.pid]} ended by itself, see {node.log.name}: {tail}"
