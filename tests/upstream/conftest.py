"""A cluster that tests share which kill nothing, and clusters without processes for those that do.

The shared one stands in a zone that no run of a test has: where a machine or a database stands must change nothing.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import pytest_asyncio

from tests.cluster.cluster import PATIENT, Cluster
from tests.cluster.conftest import cluster as cluster
from tests.cluster.conftest import laptop as laptop
from tests.cluster.conftest import timing as timing
from tests.conftest import TEMPLATE
from tests.scenarios.engine import SEEN, Engine
from tests.servers.postgres import PostgresServer

ZONE_OF_THE_MACHINES = "Asia/Shanghai"


@pytest.fixture(scope="package")
def _shared_cluster(postgres_server: PostgresServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    url = postgres_server.create_database("upstream", template=TEMPLATE)
    folder: Path = tmp_path_factory.mktemp("upstream")
    with Cluster(url, url, folder, PATIENT) as made:
        made.environment["TZ"] = ZONE_OF_THE_MACHINES
        made.rows(f"ALTER DATABASE upstream SET timezone = '{ZONE_OF_THE_MACHINES}'")
        made.rows(SEEN)
        yield made
    postgres_server.drop_database("upstream")


@pytest_asyncio.fixture
async def engine(_shared_cluster: Cluster) -> AsyncIterator[Engine]:
    """Two masters and a worker that run already, or are started for the first test."""
    made = Engine(_shared_cluster)
    if not _shared_cluster.nodes:
        await made.start()
    yield made
