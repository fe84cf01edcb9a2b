"""What the contract suite needs of each implementation: how to make clients, and how to hurt them."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any, Protocol

import psycopg
from kazoo.client import KazooClient
from kazoo.exceptions import NoNodeError
from sqlalchemy import make_url

from model.cluster.nodes import Heartbeat, NodeKind
from model.ids import Epoch
from registry.connect import make_registry
from registry.protocol import Registry
from registry.zookeeper import ZooKeeperRegistry
from tests.eventually import eventually
from tests.servers.postgres import PostgresServer
from tests.servers.zookeeper import ZooKeeperServer

SESSION = timedelta(seconds=2)
"""For clients whose session ends, or must be proved again, while a test waits for that."""
SESSION_S = SESSION.total_seconds()
LONG_SESSION = timedelta(seconds=60)
"""For all other clients: none of their requests is given up while the machine keeps a server waiting."""
OPEN_S = 60.0


def master(epoch: int, **more: Any) -> Heartbeat:
    return Heartbeat(epoch=Epoch(epoch), kind=NodeKind.MASTER, address=f"127.0.0.1:{epoch}", **more)


class Member:
    """A client in another process."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process

    async def unregister(self) -> None:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(b"unregister\n")
        assert await self.process.stdout.readline() == b"unregistered\n"


class Scene(Protocol):
    """One implementation on a real server."""

    name: str
    url: str
    secret: str
    """The password in `url`, which must never be shown."""

    async def stop_server(self) -> None: ...

    async def start_server(self) -> None:
        """Start it and wait until it serves; nothing to do if it runs."""

    def pause_server(self) -> None:
        """Let it stop answering, connections open."""

    def resume_server(self) -> None: ...

    async def lose_entry(self, registry: Registry) -> None:
        """End the session, or delete the lease, of a living client."""

    async def put_raw(self, kind: NodeKind, name: str, text: str) -> None:
        """Put an entry by hand."""


@asynccontextmanager
async def opened(scene: Scene, session: timedelta = LONG_SESSION) -> AsyncIterator[Registry]:
    registry = make_registry(scene.url, session_timeout=session, application_name="shoal-test")
    await registry.open(OPEN_S)
    try:
        yield registry
    finally:
        await registry.close()


@asynccontextmanager
async def member_process(scene: Scene, epoch: int, kind: NodeKind = NodeKind.MASTER) -> AsyncIterator[Member]:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tests.registry.member", kind, str(epoch), str(SESSION_S)),
        env={**os.environ, "URL": scene.url},
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    try:
        assert process.stdout is not None
        assert await process.stdout.readline() == b"registered\n"
        yield Member(process)
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()


class ZooKeeperScene:
    name = "zookeeper"
    secret = "s3cret-zk"

    def __init__(self, server: ZooKeeperServer, root: str) -> None:
        self.server = server
        self.root = root
        self.url = server.url(root, credentials=f"shoal:{self.secret}")

    async def stop_server(self) -> None:
        self.server.stop()

    async def start_server(self) -> None:
        self.server.start()
        await eventually(self.server.serves, within_s=40)

    def pause_server(self) -> None:
        self.server.pause()

    def resume_server(self) -> None:
        self.server.resume()

    async def lose_entry(self, registry: Registry) -> None:
        assert isinstance(registry, ZooKeeperRegistry)
        session = kazoo_of(registry).client_id

        def claim_failover_and_close() -> None:
            double = KazooClient(self.server.hosts, client_id=session, timeout=LONG_SESSION.total_seconds())
            double.start(OPEN_S)
            double.stop()
            double.close()

        await asyncio.to_thread(claim_failover_and_close)

    async def put_raw(self, kind: NodeKind, name: str, text: str) -> None:
        with self.raw() as client:
            client.create(f"{self.root}/{kind.lower()}s/{name}", text.encode(), makepath=True)

    @contextlib.contextmanager
    def raw(self, credentials: str = f"shoal:{secret}") -> Any:
        """A plain kazoo client with the given credentials."""
        client = KazooClient(
            self.server.hosts,
            timeout=LONG_SESSION.total_seconds(),
            auth_data=[("digest", credentials)] if credentials else None,
        )
        client.start(OPEN_S)
        try:
            yield client
        finally:
            client.stop()
            client.close()

    def children(self, folder: str) -> list[str]:
        with self.raw() as client:
            try:
                return sorted(client.get_children(f"{self.root}/{folder}"))
            except NoNodeError:
                return []


class PostgresScene:
    name = "postgres"

    def __init__(self, server: PostgresServer, url: str) -> None:
        self.server = server
        self.url = url
        self.secret = server.password
        self._database = str(make_url(url).database)

    async def stop_server(self) -> None:
        self.server.stop()

    async def start_server(self) -> None:
        self.server.start()

    def pause_server(self) -> None:
        self.server.pause()

    def resume_server(self) -> None:
        self.server.resume()

    async def lose_entry(self, registry: Registry) -> None:
        assert registry.url not in self.url, "the password is shown"
        self.execute("DELETE FROM registry_lease")

    async def put_raw(self, kind: NodeKind, name: str, text: str) -> None:
        self.execute(
            "INSERT INTO registry_lease VALUES (%s, %s, %s, clock_timestamp() + interval '1 hour')",
            kind.value,
            int(name),
            text,
        )

    def connect(self) -> psycopg.Connection[Any]:
        """A connection of the test's own, which commits each statement."""
        return self.server.connect(self._database)

    def execute(self, statement: str, *parameters: object) -> list[tuple[object, ...]]:
        with self.connect() as connection:
            cursor = connection.execute(statement.encode(), parameters or None)
            return cursor.fetchall() if cursor.description else []


def kazoo_of(registry: ZooKeeperRegistry) -> Any:
    """The kazoo client inside, to hurt it."""
    assert registry._bridge is not None
    return registry._bridge._client
