"""All nodes of a cluster are at one registry, whatever their settings say or forget."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from kazoo.client import KazooClient

from registry.ensemble import Ensemble
from tests.cluster.cluster import Cluster, Node
from tests.cluster.test_registry_outages import come_back_empty
from tests.conftest import TEMPLATE
from tests.eventually import eventually
from tests.servers.postgres import PostgresServer
from tests.servers.zookeeper import ZooKeeperServer
from tests.shoal.command_line import CommandLine

FENCED = "SELECT count(*) FROM node WHERE state = 'FENCED'"


def _start(cluster: Cluster, role: str, **extra: str) -> Node:
    node = Node(cluster, role, len(cluster.nodes), extra)
    cluster.nodes.append(node)
    return node


@pytest.fixture
def other_database(postgres_server: PostgresServer) -> Iterator[str]:
    name = "test_other_registry"
    yield postgres_server.create_database(name, template=TEMPLATE)
    postgres_server.drop_database(name)


async def test_a_node_that_names_no_registry_joins_the_cluster_s(cluster: Cluster) -> None:
    await cluster.master()
    del cluster.environment["SHOAL_REGISTRY_URL"]
    await cluster.master()
    await cluster.slots_become(2)
    slots = await CommandLine.at(cluster.environment["SHOAL_DATABASE_URL"])("master", "list", "--json")
    assert [each["in_registry"] for each in slots.json["masters"]] == [True, True]


async def test_db_init_records_the_registry_that_it_names(cluster: Cluster) -> None:
    database, registry = cluster.environment["SHOAL_DATABASE_URL"], cluster.environment.pop("SHOAL_REGISTRY_URL")
    assert (await CommandLine.at(database, SHOAL_REGISTRY_URL=registry)("db", "init")).code == 0
    master = await cluster.master()
    assert str(master.events("joined")[0]["registry"]).startswith("zookeeper://")


async def test_a_node_or_verb_that_names_another_registry_is_refused(cluster: Cluster) -> None:
    await cluster.master()
    database, registry = (cluster.environment[f"SHOAL_{each}_URL"] for each in ("DATABASE", "REGISTRY"))
    own = {"SHOAL_WORKER__FOLDER": str(cluster.folder / "w")}
    refused = [
        _start(cluster, "master", SHOAL_REGISTRY_URL=database),
        _start(cluster, "worker", SHOAL_REGISTRY_URL=f"{registry}-other", **own),
    ]
    for node in refused:
        assert await node.ended(within_s=60) == 2
        assert "a node there would see no other nodes" in node.log.read_text()
    shoal = CommandLine.at(database, SHOAL_REGISTRY_URL=database)
    slots = await shoal("master", "list")
    assert (slots.code, "this cluster's is zookeeper://" in slots.err) == (2, True)
    checks = {each["name"]: each["verdict"] for each in (await shoal("doctor", "--json")).json["checks"]}
    assert checks["registry"] == "FAILED"
    assert cluster.one("SELECT count(*) FROM node") == 1


async def test_where_the_database_is_the_registry_another_database_is_refused(
    laptop: Cluster, other_database: str
) -> None:
    await laptop.master()
    node = _start(laptop, "master", SHOAL_REGISTRY_URL=other_database)
    assert await node.ended() == 2
    assert "this cluster's is the database itself" in node.log.read_text()


async def test_a_cluster_moves_to_another_registry_while_no_node_lives(laptop: Cluster, zookeeper_url: str) -> None:
    first = await laptop.master()
    shoal = CommandLine.at(laptop.environment["SHOAL_DATABASE_URL"])
    refused = await shoal("db", "registry", "--set", zookeeper_url)
    assert (refused.code, "while nodes live" in refused.err) == (2, True)
    first.kill()
    moved = await shoal("db", "registry", "--set", zookeeper_url)
    assert moved.code == 0, moved.err
    former = _start(laptop, "master")
    assert await former.ended() == 2
    del laptop.environment["SHOAL_REGISTRY_URL"]
    master = await laptop.master()
    assert str(master.events("joined")[0]["registry"]).startswith("zookeeper://")


async def test_a_registry_with_the_nodes_of_another_cluster_is_refused(cluster: Cluster, other_database: str) -> None:
    await cluster.master()
    node = _start(cluster, "master", SHOAL_DATABASE_URL=other_database)
    assert await node.ended() == 2
    assert "is in use by another cluster: 1 of its nodes are there" in node.log.read_text()


async def test_a_zookeeper_that_came_back_empty_is_marked_again_by_who_was_there(
    cluster: Cluster, zookeeper_server: ZooKeeperServer
) -> None:
    await cluster.master()
    root = Ensemble.parse(cluster.environment["SHOAL_REGISTRY_URL"]).root
    mark = cluster.one("SELECT registry_mark FROM cluster")
    await come_back_empty(zookeeper_server)
    client = KazooClient(zookeeper_server.hosts)
    client.start()
    try:
        await eventually(lambda: client.exists(f"{root}/cluster"), within_s=30)
        assert client.get(f"{root}/cluster")[0].decode() == mark
    finally:
        client.stop()
        client.close()
    await cluster.master()
    await cluster.slots_become(2, within_s=30)
    assert cluster.one(FENCED) == 0
