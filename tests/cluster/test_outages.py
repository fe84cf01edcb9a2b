"""Servers go and come back, and what people insert is broken: the good work goes on."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path

from tests.cluster.cluster import Cluster
from tests.eventually import eventually
from tests.servers.postgres import PostgresServer
from tests.servers.zookeeper import ZooKeeperServer

SEEDS = Path(__file__).parents[2] / "sql" / "seed"
FLOWING = 1001


def define_flowing(cluster: Cluster) -> None:
    cluster.define(
        FLOWING,
        "flowing",
        tasks=[
            {"name": "write", "type": "SHELL", "params": {"script": cluster.journal.script("sleep 0.05")}},
            {"name": "next", "type": "FAKE", "after": ["write"]},
        ],
    )


async def cluster_at_work(cluster: Cluster, count: int) -> None:
    define_flowing(cluster)
    await cluster.worker()
    for _ in range(2):
        await cluster.master()
    await cluster.slots_become(2)
    cluster.start(FLOWING, count)
    await eventually(lambda: len(cluster.journal.lines()) > 20, within_s=10)


async def test_a_database_restart_in_mid_flow_is_survived(cluster: Cluster, postgres_server: PostgresServer) -> None:
    await cluster_at_work(cluster, 200)
    postgres_server.restart("fast")
    await eventually(lambda: cluster.unfinished() < 100, within_s=30)
    postgres_server.restart("immediate")
    await cluster.all_ends()
    cluster.check_exactly_once(200)
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
    await cluster_at_work(cluster, 400)
    others = "FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
    for _ in range(10):
        await eventually(lambda: cluster.one(f"SELECT count(*) {others}") >= 6)
        cluster.rows(f"SELECT pg_terminate_backend(pid) {others}")
    await cluster.all_ends()
    cluster.check_exactly_once(400)
    assert cluster.one("SELECT count(*) FROM node WHERE state = 'FENCED'") == 0


async def test_a_zookeeper_restart_in_mid_flow_is_survived(cluster: Cluster, zookeeper_server: ZooKeeperServer) -> None:
    await cluster_at_work(cluster, 150)
    zookeeper_server.stop()
    try:
        cluster.start(FLOWING, 50)
        await cluster.all_ends()  # safety rests on the database: work goes on without the registry
        cluster.check_exactly_once(200)
    finally:
        zookeeper_server.start()
    assert cluster.one("SELECT count(*) FROM node WHERE state = 'FENCED'") == 0
    await cluster.master()
    await cluster.slots_become(3)
    cluster.start(FLOWING, 30)
    await cluster.all_ends()


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
    define_flowing(cluster)
    await cluster.master()
    await cluster.worker()
    cluster.rows("BEGIN")
    cluster.rows("LOCK TABLE command IN ACCESS EXCLUSIVE MODE")
    try:
        await eventually(
            lambda: any(node.events("claim_waits") or node.events("poll_failed") for node in cluster.nodes), within_s=15
        )
    finally:
        cluster.rows("COMMIT")
    cluster.start(FLOWING, 10)
    await cluster.all_ends()
    cluster.check_exactly_once(10)


async def test_commands_without_an_owner_are_taken_by_any_free_master(cluster: Cluster) -> None:
    """Two masters on different id_steps own residues that leave some commands without an owner; age gives them away."""
    define_flowing(cluster)
    await cluster.worker()
    await cluster.master(SHOAL_MASTER__ID_STEP="1")
    second = await cluster.master(SHOAL_MASTER__ID_STEP="1000000")
    await cluster.slots_become(2)
    cluster.start(FLOWING, 40)
    await cluster.all_ends(within_s=20)
    cluster.check_exactly_once(40)
    assert second.events("id_step_does_not_fit")
