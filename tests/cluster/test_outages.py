"""Servers go and come back, and what people insert is broken: the good work goes on."""

from __future__ import annotations

import signal
import subprocess
import time
from pathlib import Path

from sqlalchemy import make_url

from registry.ensemble import Ensemble
from tests.chaos.proxy import Proxies
from tests.cluster.cluster import Cluster
from tests.eventually import eventually
from tests.registry.scenes import ZooKeeperScene
from tests.servers.postgres import PostgresServer
from tests.servers.zookeeper import ZooKeeperServer

SEEDS = Path(__file__).parents[2] / "sql" / "seed"
FLOWING = 1001


def _define(cluster: Cluster) -> None:
    cluster.define(
        FLOWING,
        "flowing",
        tasks=[
            {"name": "write", "type": "SHELL", "params": {"script": cluster.journal.script("sleep 0.05")}},
            {"name": "next", "type": "FAKE", "after": ["write"]},
        ],
    )


async def _cluster_at_work(cluster: Cluster, count: int) -> None:
    _define(cluster)
    await cluster.worker()
    for _ in range(2):
        await cluster.master()
    await cluster.slots_become(2)
    cluster.start(FLOWING, count)
    await eventually(lambda: len(cluster.journal.lines()) > 20, within_s=10)


async def test_a_database_restart_in_mid_flow_is_survived(cluster: Cluster, postgres_server: PostgresServer) -> None:
    await _cluster_at_work(cluster, 400)
    postgres_server.restart("fast")
    await eventually(lambda: cluster.unfinished() < 200, within_s=30)
    postgres_server.restart("immediate")
    await cluster.all_ends()
    cluster.check_exactly_once(400)
    assert cluster.one("SELECT count(*) FROM node WHERE state = 'FENCED'") == 0
    assert cluster.one("SELECT max(attempt) FROM task_instance") == 1


async def test_a_frozen_database_costs_no_running_task(cluster: Cluster, postgres_server: PostgresServer) -> None:
    """It accepts and does not answer, for longer than a worker may be silent: the registry tells that it lives."""
    script = cluster.journal.script("sleep 12")
    cluster.define(1, "long", tasks=[{"name": "a", "type": "SHELL", "params": {"script": script}}])
    await cluster.master()
    await cluster.worker()
    cluster.start(1, 3)
    await eventually(lambda: len(cluster.journal.lines()) == 3, within_s=10)
    thaws_at = time.monotonic() + 8
    postgres_server.pause()
    try:
        await eventually(lambda: time.monotonic() > thaws_at, within_s=10)
    finally:
        postgres_server.resume()
    await cluster.all_ends()
    cluster.check_exactly_once(3)
    assert cluster.one("SELECT max(attempt) FROM task_instance") == 1


async def test_lost_connections_in_mid_flow_are_survived(cluster: Cluster) -> None:
    await _cluster_at_work(cluster, 400)
    others = "FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
    for _ in range(10):
        await eventually(lambda: cluster.one(f"SELECT count(*) {others}") >= 6)
        cluster.rows(f"SELECT pg_terminate_backend(pid) {others}")
    await cluster.all_ends()
    cluster.check_exactly_once(400)
    assert cluster.one("SELECT count(*) FROM node WHERE state = 'FENCED'") == 0


async def test_a_zookeeper_restart_in_mid_flow_is_survived(cluster: Cluster, zookeeper_server: ZooKeeperServer) -> None:
    await _cluster_at_work(cluster, 300)
    zookeeper_server.stop()
    try:
        cluster.start(FLOWING, 100)
        await cluster.all_ends()  # safety rests on the database: work goes on without the registry
        cluster.check_exactly_once(400)
    finally:
        zookeeper_server.start()
    assert cluster.one("SELECT count(*) FROM node WHERE state = 'FENCED'") == 0
    await cluster.master()
    await cluster.slots_become(3)
    cluster.start(FLOWING, 30)
    await cluster.all_ends()


async def test_a_zookeeper_that_comes_back_empty_is_joined_again_by_all_with_their_epochs(
    cluster: Cluster, zookeeper_server: ZooKeeperServer
) -> None:
    """A new ensemble at the old place refuses whoever has seen more transactions than it has made."""
    await _cluster_at_work(cluster, 300)
    scene = ZooKeeperScene(zookeeper_server, Ensemble.parse(cluster.environment["SHOAL_REGISTRY_URL"]).root)
    with scene.raw() as client:
        for _ in range(500):
            client.set(scene.root, b"")  # a new ensemble must not come as far as this for a long time
    zookeeper_server.stop()
    zookeeper_server.wipe()
    zookeeper_server.start()
    await eventually(zookeeper_server.serves, within_s=20)
    with scene.raw() as client:  # only one: each session is a transaction too

        def registered() -> set[int]:
            folders = ("masters", "workers")
            return {int(name) for folder in folders for name in client.get_children(f"{scene.root}/{folder}")}

        await eventually(registered, until={node.epoch for node in cluster.nodes}, within_s=10)
    await cluster.slots_become(2, within_s=10)
    await cluster.all_ends()
    cluster.check_exactly_once(300)
    assert cluster.one("SELECT count(*) FROM node WHERE state <> 'ALIVE'") == 0
    assert cluster.one("SELECT max(takeovers) FROM workflow_instance") == 0
    assert cluster.one("SELECT max(attempt) FROM task_instance") == 1
    third = await cluster.master()
    await cluster.slots_become(3)
    third.signal(signal.SIGKILL)
    await cluster.slots_become(2)


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
    root = Ensemble.parse(cluster.environment["SHOAL_REGISTRY_URL"]).root
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
        is_over_s = time.monotonic() + 12
        await eventually(lambda: time.monotonic() > is_over_s, within_s=20)
        assert not master.events("node_fenced")
        zookeeper_server.stop()
        zookeeper_server.wipe()
        zookeeper_server.start()
        await eventually(zookeeper_server.serves, within_s=20)
        of_master.open()
        runs_again = "2\n" * 10
        await eventually(lambda: worker.events("horizon_passed") or runs_again in ticks.read_text(), within_s=20)
        of_worker.open()
        await eventually(lambda: runs_again in ticks.read_text(), within_s=20)
        of_worker.open()
        gate.touch()
        await cluster.all_ends()
    assert ticks.read_text().split() == sorted(ticks.read_text().split())


async def test_poison_commands_end_with_a_sentence_each_and_the_good_ones_run(cluster: Cluster) -> None:
    await cluster.master()
    await cluster.worker()
    for seed in ("demo_workflows.sql", "poison_commands.sql"):
        url = cluster.psql_url
        subprocess.run(["psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", "-f", str(SEEDS / seed), url], check=True)
    await cluster.all_ends()
    reasons = [reason for (reason,) in cluster.rows("SELECT reason FROM error_command ORDER BY command_id")]
    assert len(reasons) >= 6
    for word in ("type", "no workflow", "JSON", "version", "OFFLINE", "priority"):
        assert any(word in reason for reason in reasons), f"no reason speaks of {word}: {reasons}"
    assert not any("Traceback" in reason for reason in reasons)
    assert cluster.one("SELECT count(*) FROM workflow_instance") > 0


async def test_a_locked_command_table_makes_no_error_command(cluster: Cluster) -> None:
    _define(cluster)
    await cluster.master()
    await cluster.worker()
    cluster.rows("BEGIN")
    cluster.rows("LOCK TABLE command IN ACCESS EXCLUSIVE MODE")
    try:
        await eventually(
            lambda: any(node.events("claim_waits") or node.events("look_failed") for node in cluster.nodes), within_s=15
        )
    finally:
        cluster.rows("COMMIT")
    cluster.start(FLOWING, 10)
    await cluster.all_ends()
    cluster.check_exactly_once(10)


async def test_commands_without_an_owner_are_taken_by_any_free_master(cluster: Cluster) -> None:
    """Two masters on different id_steps own residues that leave some commands to nobody; age gives them away."""
    _define(cluster)
    await cluster.worker()
    await cluster.master(SHOAL_MASTER__ID_STEP="1")
    second = await cluster.master(SHOAL_MASTER__ID_STEP="1000000")
    await cluster.slots_become(2)
    cluster.start(FLOWING, 40)
    await cluster.all_ends(within_s=20)
    cluster.check_exactly_once(40)
    assert second.events("id_step_does_not_fit")
