"""One cluster for all scenarios: they differ in workflows, not in processes."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import pytest_asyncio

from tests.cluster.cluster import PATIENT, Cluster
from tests.conftest import TEMPLATE
from tests.eventually import eventually
from tests.scenarios.engine import SEEN, Engine
from tests.servers.postgres import PostgresServer


@pytest.fixture(scope="package")
def _shared_cluster(postgres_server: PostgresServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    url = postgres_server.create_database("scenarios", template=TEMPLATE)
    folder: Path = tmp_path_factory.mktemp("scenarios")
    with Cluster(url, url, folder, PATIENT) as cluster:
        cluster.rows(SEEN)
        yield cluster
    postgres_server.drop_database("scenarios")


@pytest_asyncio.fixture
async def engine(_shared_cluster: Cluster) -> AsyncIterator[Engine]:
    """Two masters and a worker that run already, or are started for the first test."""
    made = Engine(_shared_cluster)
    if not _shared_cluster.nodes:
        await made.start()
    yield made


@pytest.fixture
def fresh(database_url: str, tmp_path: Path) -> Iterator[Engine]:
    """A cluster without processes, for a scenario that kills some."""
    with Cluster(database_url, database_url, tmp_path) as cluster:
        cluster.rows(SEEN)
        yield Engine(cluster)


@pytest_asyncio.fixture
async def the_cluster_goes_on(engine: Engine) -> AsyncIterator[None]:
    """After each of these a good start succeeds at once, by masters that are the same as before."""
    alive = "SELECT array_agg(id ORDER BY id) FROM node WHERE kind = 'MASTER' AND state = 'ALIVE'"
    before = engine.cluster.one(alive)
    yield
    code = engine.define({"name": "good"})
    engine.cluster.start(code, 2)  # one for each master
    ended = "SELECT array_agg(state) FROM workflow_instance WHERE workflow_code = %s AND ended_at IS NOT NULL"
    good = ["SUCCESS", "SUCCESS"]
    await eventually(lambda: engine.cluster.one(ended, code), until=good, within_s=10, every_s=0.02)
    assert engine.cluster.one(alive) == before
