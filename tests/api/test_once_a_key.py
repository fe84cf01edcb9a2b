"""One run a key, however often a start is sent to API processes that are killed, on a database that crashes.

`pytest -s -m soak tests/api/test_once_a_key.py` prints the figures of 1,000 keys.
"""

from __future__ import annotations

import asyncio
import random
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest

from dao.postgres.database import Database
from shoal.backend import backend_of
from shoal.config.settings import load_settings
from tests.api.serving import BASE, client_of, token_of
from tests.cluster.cluster import PATIENT, Cluster, Node
from tests.conftest import SCHEMA
from tests.eventually import eventually
from tests.servers.child import free_port
from tests.servers.postgres import PostgresServer

PROCESSES = 3
CLIENTS = 16
ROUNDS, AT_ONCE = 2, 2
"""How often each key is asked for while things break, and at how many processes at once."""
PATH = f"{BASE}/workflow-definitions/7/runs"
PLACE = ("slot", "owner")
TASKS = [{"name": "a", "type": "FAKE", "params": {}}]


@pytest.fixture
def postgres() -> Iterator[PostgresServer]:
    """A server that disturbs nobody else when it is stopped."""
    with PostgresServer() as server:
        server.create_database("once")
        with server.connect("once") as connection:
            connection.execute(SCHEMA.read_bytes())
        yield server


@pytest.fixture
def cluster(postgres: PostgresServer, tmp_path: Path) -> Iterator[Cluster]:
    url = postgres.url("once")
    with Cluster(url, url, tmp_path, PATIENT) as made:
        yield made


class Api:
    """A place in which one API process lives after the other, at one address."""

    def __init__(self, cluster: Cluster) -> None:
        port = free_port()
        self.url = f"http://127.0.0.1:{port}"
        self._cluster = cluster
        self._settings = {"SHOAL_API__PORT": str(port), "SHOAL_CONNECT_TIMEOUT_S": "120"}
        self._node = self._begin()

    def kill(self) -> None:
        """SIGKILL, and a new life at once."""
        self._node.kill()
        self._node = self._begin()

    def _begin(self) -> Node:
        node = Node(self._cluster, "api", len(self._cluster.nodes), self._settings)
        self._cluster.nodes.append(node)
        return node


@dataclass
class Clients:
    """Ask for one run a key: each key again and again, at two processes at once, until it is answered."""

    token: str
    urls: list[str]
    keys: list[str]
    answers: dict[str, list[httpx.Response]] = field(default_factory=lambda: defaultdict(list))
    """Those that say what was done, by key."""
    heard: Counter[str] = field(default_factory=Counter)
    """All others, by status or error."""

    async def run(self) -> None:
        """All keys, `ROUNDS` times, in any order."""
        chance = random.Random(1)
        keys = self.keys * ROUNDS
        chance.shuffle(keys)
        async with self._client() as client:

            async def one() -> None:
                while keys:
                    key = keys.pop()
                    await asyncio.gather(*(self._until_answered(client, key, chance) for _ in range(AT_ONCE)))

            await asyncio.gather(*(one() for _ in range(CLIENTS)))

    async def last_answers(self) -> dict[str, httpx.Response]:
        """What each key is answered when all is well."""
        async with self._client() as client:
            return {key: await self._post(client, self.urls[0], key) for key in self.keys}

    @property
    def answered(self) -> int:
        """How many answers said what was done."""
        return sum(map(len, list(self.answers.values())))

    def _client(self) -> httpx.AsyncClient:
        return client_of(token=self.token)

    async def _until_answered(self, client: httpx.AsyncClient, key: str, chance: random.Random) -> None:
        while True:
            try:
                answer = await self._post(client, chance.choice(self.urls), key)
            except httpx.ConnectError:
                self.heard["nobody there"] += 1
            except httpx.TransportError:
                self.heard["answer lost"] += 1
            else:
                if answer.status_code == 202:
                    self.answers[key].append(answer)
                    return
                self.heard[str(answer.status_code)] += 1
            await asyncio.sleep(chance.uniform(0.02, 0.1))  # as clients do

    async def _post(self, client: httpx.AsyncClient, url: str, key: str) -> httpx.Response:
        return await client.post(f"{url}{PATH}", headers={"Idempotency-Key": key}, json={})


async def token_on(database_url: str) -> str:
    database = Database(database_url, application_name="test", connections_max=1)
    token = await token_of(backend_of(database, load_settings({"database_url": database_url})), "ada", is_admin=True)
    await database.close()
    return token


def said(answer: httpx.Response) -> tuple[int, dict[str, Any]]:
    """Status and body without the place of the command, which is that of the moment, and may be unknown then."""
    return answer.status_code, {name: value for name, value in answer.json().items() if name not in PLACE}


async def crash(postgres: PostgresServer, clients: Clients) -> None:
    """End the database at once, and start it when clients have been told that it is away."""
    before = clients.heard["503"]
    await asyncio.to_thread(postgres.stop, "immediate")
    await eventually(lambda: clients.heard["503"] > before, within_s=30)
    postgres.start()


@pytest.mark.timeout(600)
@pytest.mark.parametrize(("count", "kills"), [(100, 4), pytest.param(1_000, 40, marks=pytest.mark.soak)])
async def test_each_key_is_one_run_though_apis_are_killed_and_the_database_crashes(
    postgres: PostgresServer, cluster: Cluster, count: int, kills: int
) -> None:
    cluster.define(7, "w", tasks=TASKS)
    await cluster.master()
    await cluster.worker()
    apis = [Api(cluster) for _ in range(PROCESSES)]
    clients = Clients(await token_on(postgres.url("once")), [api.url for api in apis], [f"k{n}" for n in range(count)])
    begun_s = time.monotonic()
    sending = asyncio.create_task(asyncio.to_thread(asyncio.run, clients.run()))
    whole = count * ROUNDS * AT_ONCE
    for number in range(kills):
        await eventually(lambda: clients.answered > whole * number // kills, within_s=60, every_s=0.005)  # noqa: B023
        apis[number % PROCESSES].kill()
        if number == kills // 2:
            await crash(postgres, clients)
    await sending
    took_s = time.monotonic() - begun_s

    last = await clients.last_answers()
    for key in clients.keys:
        answers = [*clients.answers[key], last[key]]
        assert all(said(answer) == said(last[key]) for answer in answers), (key, [answer.text for answer in answers])
        assert {place for answer in answers if (place := answer.json().get("slot"))} <= {"0/1"}, key
        assert sum("Idempotency-Replayed" not in answer.headers for answer in answers) <= 1, key
    commands = {int(answer.json()["command_id"]) for answer in last.values()}
    assert len(commands) == count
    assert set(clients.heard) <= {"nobody there", "answer lost", "409", "503"}, clients.heard
    assert clients.heard["answer lost"] > 0
    await cluster.all_ends()
    cluster.check_exactly_once(count)
    assert {id_ for (id_,) in cluster.rows("SELECT command_id FROM workflow_instance")} == commands
    assert cluster.one("SELECT count(*) FROM audit WHERE action = 'start_run'") == count
    unheard = sum(all("Idempotency-Replayed" in each.headers for each in clients.answers[key]) for key in clients.keys)
    sys.stdout.write(
        f"\n{count} keys, {clients.answered} answers in {took_s:.1f} s, {kills} processes killed, the database crashed "
        f"once; else: {dict(clients.heard)}; done by a request whose answer was lost: {unheard}\n"
    )
