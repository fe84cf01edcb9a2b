"""A process that starts in the middle of a blip waits for the servers, for as long as it was told to."""

from __future__ import annotations

import time

import psycopg
import pytest

from tests.cluster.cluster import Cluster, Node
from tests.cluster.conftest import patient as timing  # noqa: F401 - what its clusters live by
from tests.eventually import eventually


@pytest.mark.parametrize("role", ["master", "worker"])
async def test_who_starts_while_the_table_of_nodes_is_locked_joins_when_it_is_free(cluster: Cluster, role: str) -> None:
    node = Node(cluster, role, 0, {"SHOAL_WORKER__FOLDER": str(cluster.folder / "worker")})
    cluster.nodes.append(node)
    with psycopg.connect(cluster.psql_url) as stranger:
        stranger.execute("LOCK TABLE node IN ACCESS EXCLUSIVE MODE")
        await eventually(lambda: node.events("cannot_join_yet") or not node.is_alive, within_s=30)
        assert node.is_alive, node.log.read_text()
        stranger.rollback()
    await eventually(lambda: node.events("joined"), within_s=10)


async def test_who_starts_while_the_database_takes_no_writes_joins_when_it_does(cluster: Cluster) -> None:
    name = cluster.one("SELECT current_database()")
    cluster.rows(f'ALTER DATABASE "{name}" SET default_transaction_read_only = on')
    node = Node(cluster, "master", 0, {})
    cluster.nodes.append(node)
    await eventually(lambda: len(node.events("cannot_join_yet")) >= 2 or not node.is_alive, within_s=30)
    assert node.is_alive, node.log.read_text()
    cluster.rows(f'ALTER DATABASE "{name}" SET default_transaction_read_only = off')
    await eventually(lambda: node.events("joined"), within_s=10)


async def test_who_cannot_join_for_as_long_as_it_was_told_to_try_gives_up(cluster: Cluster) -> None:
    with psycopg.connect(cluster.psql_url) as stranger:
        stranger.execute("LOCK TABLE node IN ACCESS EXCLUSIVE MODE")
        began_s = time.monotonic()
        node = Node(cluster, "master", 0, {"SHOAL_CONNECT_TIMEOUT_S": "5"})
        cluster.nodes.append(node)
        assert await node.ended() == 1
        assert time.monotonic() - began_s > 5
        assert node.events("cannot_join_yet")
