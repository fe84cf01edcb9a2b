"""One cluster on ZooKeeper and PostgreSQL with its API, for all tests of the SDK: each uses a project of its own."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import pytest

from dao.accounts import accounts, members, tokens
from dao.accounts.tokens import NewToken
from dao.postgres.database import Database
from model.accounts.rights import Role, Scope
from model.accounts.tokens import RANDOM_BYTES, make
from shoal_sdk.client import Client
from tests.cluster.cluster import PATIENT, Cluster
from tests.servers.postgres import PostgresServer
from tests.servers.zookeeper import ZooKeeperServer

ROOT = Path(__file__).parent.parent.parent


@dataclass(frozen=True)
class Shoal:
    """A running cluster, and the token of an administrator."""

    cluster: Cluster
    url: str
    token: str

    @property
    def environment(self) -> dict[str, str]:
        """Of a program that uses it."""
        return {**os.environ, "SHOAL_SERVER": self.url, "SHOAL_TOKEN": self.token}

    def client(self) -> Client:
        return Client(self.url, self.token)

    async def viewer(self, project: str) -> Client:
        """Of one who may only see this project."""
        url = self.cluster.environment["SHOAL_DATABASE_URL"]
        return Client(self.url, await _token(url, f"viewer_{project}", project))

    def sdk(self, *words: str, folder: Path, code: int = 0) -> str:
        """What `shoal-sdk` says, on both its outputs."""
        command = [sys.executable, "-m", "shoal_sdk.cli", *words]
        done = subprocess.run(command, cwd=folder, env=self.environment, capture_output=True, text=True, check=False)
        said = done.stdout + done.stderr
        assert done.returncode == code, said
        return said


@pytest.fixture(scope="session")
def shoal(
    postgres_server: PostgresServer, zookeeper_server: ZooKeeperServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Shoal]:
    """A master, a worker and an API."""
    url = postgres_server.create_database("of_sdk", template="shoal_template")
    with Cluster(url, zookeeper_server.url("/sdk/shoal"), tmp_path_factory.mktemp("cluster"), PATIENT) as cluster:
        asyncio.run(_begin(cluster, ["default"]))
        with served(cluster, url) as made:
            yield made


@pytest.fixture
def stored_shoal(database_url: str, tmp_path: Path) -> Iterator[Shoal]:
    """The same with a log store, and another worker for the group `other`."""
    (tmp_path / "store").mkdir()
    with Cluster(database_url, database_url, tmp_path, PATIENT) as cluster:
        cluster.environment["SHOAL_LOG_STORE__URL"] = (tmp_path / "store").as_uri()
        asyncio.run(_begin(cluster, ["default", "other"]))
        with served(cluster, database_url) as made:
            yield made


@contextmanager
def served(cluster: Cluster, url: str, module: str = "tests.api.process", *more: str) -> Iterator[Shoal]:
    """An API beside a cluster; `module` serves it, with more arguments."""
    command, environment = [sys.executable, "-m", module, url, *more], {**os.environ, **cluster.environment}
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, env=environment) as api:
        try:
            assert api.stdout is not None
            address, account = api.stdout.readline().strip(), "tester" + "".join(str(len(each)) for each in more)
            yield Shoal(cluster, address, asyncio.run(_token(url, account)))
        finally:
            api.terminate()


async def _begin(cluster: Cluster, groups: list[str]) -> None:
    await cluster.master()
    for group in groups:
        await cluster.worker(SHOAL_WORKER__GROUPS=group)


async def _token(url: str, name: str, project: str | None = None) -> str:
    """Of a new administrator, or of one who may only see this project."""
    database = Database(url, application_name="shoal-test", connections_max=1)
    token = make(os.urandom(RANDOM_BYTES))
    async with database.writing() as connection:
        account = await accounts.insert(connection, name, project is None)
        made = NewToken("sdk", token.hash, frozenset({Scope.ADMIN}), None, timedelta(days=1))
        await tokens.insert(connection, account.id, made)
        if project is not None:
            await members.put(connection, account.id, project, Role.VIEWER)
    await database.close()
    return token.text
