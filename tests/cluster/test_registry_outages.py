"""ZooKeeper loses its data, swallows requests, or shows dead nodes: nobody is fenced for it, and work continues."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from kazoo.client import KazooClient
from sqlalchemy import make_url

from model.cluster.nodes import Heartbeat, NodeKind
from model.ids import Epoch
from registry import ensemble
from registry.entry import write_entry
from tests.chaos.ensemble import Ensemble
from tests.chaos.proxy import Proxies
from tests.cluster.cluster import Cluster
from tests.cluster.test_outages import FLOWING, cluster_at_work, define_flowing
from tests.eventually import eventually
from tests.servers.zookeeper import ZooKeeperServer

SESSION_S = 2.0
"""The sessions of these clusters, see `tests/cluster/cluster.py`."""


class Tree:
    """The content of ZooKeeper, by one session of the test's own: each session is a transaction too."""

    def __init__(self, client: KazooClient, root: str) -> None:
        self.client = client
        self.root = root

    def epochs(self) -> set[int]:
        """The epochs of all registered nodes."""
        folders = (f"{self.root}/{name}" for name in ("masters", "workers"))
        return {int(name) for folder in folders for name in self.client.get_children(folder)}

    def add(self, heartbeat: Heartbeat) -> None:
        """An entry that stays for as long as the session of the test does."""
        path = f"{self.root}/{heartbeat.kind.lower()}s/{heartbeat.epoch:019}"
        self.client.create(path, write_entry(heartbeat).encode(), ephemeral=True)


@contextmanager
def tree_of(url: str) -> Iterator[Tree]:
    place = ensemble.Ensemble.parse(url)
    client = KazooClient(place.hosts)
    client.start(20)
    try:
        yield Tree(client, place.root)
    finally:
        client.stop()
        client.close()


async def come_back_empty(server: ZooKeeperServer) -> None:
    server.stop()
    server.wipe()
    server.start()
    await eventually(server.serves, within_s=20)


def check_that_nobody_was_fenced(cluster: Cluster) -> None:
    assert cluster.one("SELECT count(*) FROM node WHERE state <> 'ALIVE'") == 0
    assert cluster.one("SELECT max(takeovers) FROM workflow_instance") == 0
    assert cluster.one("SELECT max(attempt) FROM task_instance") == 1


async def check_that_the_slots_follow(cluster: Cluster) -> None:
    """Check that the slots follow two masters that come and go."""
    await cluster.slots_become(2, within_s=10)
    third = await cluster.master()
    await cluster.slots_become(3)
    third.signal(signal.SIGKILL)
    await cluster.slots_become(2)


async def test_a_zookeeper_that_comes_back_empty_is_joined_again_by_all_with_their_epochs(
    cluster: Cluster, zookeeper_server: ZooKeeperServer
) -> None:
    """A new ensemble at the old place refuses clients that have seen more transactions than it has made."""
    await cluster_at_work(cluster, 300)
    url = cluster.environment["SHOAL_REGISTRY_URL"]
    with tree_of(url) as tree:
        for _ in range(500):
            tree.client.set(tree.root, b"")  # the new one must not come as far as this for a long time
    await come_back_empty(zookeeper_server)
    with tree_of(url) as tree:
        await eventually(tree.epochs, until={node.epoch for node in cluster.nodes}, within_s=10)
    await cluster.slots_become(2, within_s=10)
    await cluster.all_ends()
    cluster.check_exactly_once(300)
    check_that_nobody_was_fenced(cluster)
    await check_that_the_slots_follow(cluster)


async def test_an_empty_zookeeper_is_no_proof_against_a_worker_that_could_not_join_it_yet(
    cluster: Cluster, zookeeper_server: ZooKeeperServer, tmp_path: Path
) -> None:
    """Goal: no attempt begins while a former one runs. Method: the worker has lost the database and trusts its session;
    the master, whose own is over, is the first whom the empty ZooKeeper lets in."""
    cluster.environment["SHOAL_TIMING__SESSION_TIMEOUT"] = "10"
    ticks, gate = tmp_path / "ticks", tmp_path / "gate"
    script = f"while [ ! -e {gate} ]; do echo $SHOAL_ATTEMPT >> {ticks}; sleep 0.1; done"
    cluster.define(1, "ticks", tasks=[{"name": "a", "type": "SHELL", "params": {"script": script}}])
    database = make_url(cluster.environment["SHOAL_DATABASE_URL"])
    root = ensemble.Ensemble.parse(cluster.environment["SHOAL_REGISTRY_URL"]).root
    with Proxies() as proxies:
        of_worker, of_master = proxies.gate(int(database.port or 0)), proxies.gate(zookeeper_server.port)
        through = database.set(port=of_worker.port).render_as_string(hide_password=False)
        master = await cluster.master(SHOAL_REGISTRY_URL=f"zookeeper://127.0.0.1:{of_master.port}{root}")
        worker = await cluster.worker(SHOAL_DATABASE_URL=through)
        cluster.start(1)
        await eventually(ticks.exists)
        await cluster.worker()
        of_worker.hold()
        of_master.refuse()
        await _past(12)
        assert not master.events("node_fenced")
        await come_back_empty(zookeeper_server)
        of_master.open()
        runs_again = "2\n" * 10
        await eventually(lambda: worker.events("horizon_passed") or runs_again in ticks.read_text(), within_s=20)
        of_worker.open()
        await eventually(lambda: runs_again in ticks.read_text(), within_s=20)
        gate.touch()
        await cluster.all_ends()
    attempts = ticks.read_text().split()
    assert attempts == sorted(attempts)


async def test_each_of_three_zookeepers_may_swallow_what_it_is_sent(cluster: Cluster) -> None:
    """It accepts and never answers, as behind a lossy network; its clients find another."""
    with Ensemble() as servers, Proxies() as proxies:
        gates = [proxies.gate(member.port) for member in servers.members]
        hosts = ",".join(f"127.0.0.1:{gate.port}" for gate in gates)
        cluster.environment["SHOAL_REGISTRY_URL"] = f"zookeeper://{hosts}/shoal"
        await cluster_at_work(cluster, 100)
        past_all = ",".join(f"127.0.0.1:{member.port}" for member in servers.members)
        with tree_of(f"zookeeper://{past_all}/shoal") as tree:
            for gate in gates:
                gate.hold()
                cluster.start(FLOWING, 50)
                await _past(2 * SESSION_S)
                await eventually(tree.epochs, until={node.epoch for node in cluster.nodes}, within_s=10)
                await cluster.all_ends()
                gate.drop()
                gate.open()
        assert all(node.events("registry_disconnected") for node in cluster.nodes), "each was connected to one of them"
        cluster.check_exactly_once(250)
        check_that_nobody_was_fenced(cluster)
        await check_that_the_slots_follow(cluster)


async def test_an_entry_of_the_dead_that_stays_gets_no_slot(cluster: Cluster) -> None:
    """ZooKeeper may keep for long what a session left (ZOOKEEPER-4837); here a client of the test does."""
    define_flowing(cluster)
    await cluster.worker()
    dies, lives = [await cluster.master() for _ in range(2)]
    await cluster.slots_become(2)
    dies.signal(signal.SIGKILL)
    await cluster.slots_become(1)
    with tree_of(cluster.environment["SHOAL_REGISTRY_URL"]) as tree:
        await eventually(lambda: dies.epoch not in tree.epochs())
        tree.add(
            Heartbeat(epoch=Epoch(dies.epoch), kind=NodeKind.MASTER, address=str(dies.events("joined")[0]["master"]))
        )
        await cluster.master()
        await cluster.slots_become(2)
        cluster.start(FLOWING, 30)
        await cluster.all_ends()
        assert list(cluster.slots().values()) == ["0/2", "1/2"]
        assert dies.epoch in tree.epochs()
    cluster.check_exactly_once(30)
    slots = "SELECT DISTINCT slot_total, slot_current FROM command_history WHERE type = 'START_PROCESS' ORDER BY 2"
    assert cluster.rows(slots) == [(2, 0), (2, 1)]
    assert max(event["masters"] for event in lives.events("slot_changed")) == 2


async def _past(seconds: float) -> None:
    """Let so much time go by, which is what the test is about."""
    until_s = time.monotonic() + seconds
    await eventually(lambda: time.monotonic() > until_s, within_s=seconds + 5)
