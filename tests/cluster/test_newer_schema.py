"""An upgrade of the schema beside nodes that run: they notice at their next beat, and stop when they must."""

from __future__ import annotations

import signal
from collections.abc import Callable, Coroutine
from pathlib import Path
from shutil import copyfile, copytree
from typing import Any

import pytest

from dao.postgres import newer_schema, schema
from dao.postgres.database import Database
from shoal.cli import exit_codes
from tests.cluster.cluster import Cluster, Node
from tests.cluster.test_timing import SAID
from tests.eventually import eventually
from tests.shoal.command_line import CommandLine

NEXT = newer_schema.known_version() + 1
SQL = Path(schema.__file__).parents[2] / "sql"
Upgrade = Callable[..., Coroutine[Any, Any, None]]


@pytest.fixture
def upgrade(cluster: Cluster, tmp_path: Path) -> Upgrade:
    """`shoal db upgrade` of the next Shoal, said by somebody who thinks that no node lives."""

    async def run(content: str) -> None:
        scripts = tmp_path / "sql"
        copytree(SQL / "upgrades", scripts / "upgrades")
        copyfile(SQL / "schema.sql", scripts / "schema.sql")
        (scripts / "upgrades" / f"{NEXT:04}_next.sql").write_text(content)
        database = Database(cluster.environment["SHOAL_DATABASE_URL"], application_name="upgrade")
        try:
            assert (await schema.upgrade(database, scripts, nobody_runs=True)).ran == ("next",)
        finally:
            await database.close()

    return run


async def _has_left(node: Node, cluster: Cluster) -> None:
    assert await node.ended(within_s=40) == exit_codes.OUTDATED, node.log.read_text()[-3000:]
    [said] = node.events("outdated")
    assert f"has schema version {NEXT}, this program knows only {NEXT - 1}" in said["why"]
    assert len(node.events("joined")) == 1
    assert cluster.one("SELECT state FROM node WHERE id = %s", node.epoch) == "LEFT"


async def test_nodes_that_may_not_live_with_a_new_schema_drain_leave_and_end_with_their_own_code(
    cluster: Cluster, upgrade: Upgrade, tmp_path: Path
) -> None:
    go_on = tmp_path / "go-on"
    script = cluster.journal.script(f"while [ ! -e {go_on} ]; do sleep 0.1; done")
    cluster.define(1, "waits", tasks=[{"name": "a", "type": "SHELL", "params": {"script": script}}])
    master, worker = await cluster.master(), await cluster.worker()
    cluster.start(1)
    await eventually(lambda: cluster.journal.runs(), within_s=20)
    await upgrade("-- old nodes: must stop\nCREATE TABLE what_is_new (a int);")
    await _has_left(master, cluster)
    await eventually(lambda: worker.events("leaving"), within_s=20)
    go_on.touch()
    await _has_left(worker, cluster)
    assert cluster.rows("SELECT state, attempt FROM task_instance") == [("SUCCESS", 1)], "it was let end"


async def test_nodes_whose_beat_a_new_schema_makes_impossible_end_for_it_too(
    cluster: Cluster, upgrade: Upgrade
) -> None:
    master, worker = await cluster.master(), await cluster.worker()
    await upgrade("-- old nodes: must stop\nALTER TABLE node DROP COLUMN log_url;")
    await _has_left(master, cluster)
    await _has_left(worker, cluster)


async def test_nodes_that_may_live_with_a_new_schema_say_so_once_and_go_on(cluster: Cluster, upgrade: Upgrade) -> None:
    cluster.define(1, "short", tasks=[{"name": "a", "type": "FAKE"}])
    nodes = [await cluster.master(), await cluster.worker()]
    await upgrade("-- old nodes: may run\nALTER TABLE command ADD COLUMN what_is_new int;")
    await eventually(lambda: all(node.events("schema_is_newer") for node in nodes), within_s=20)
    nodes.pop(0).kill()
    nodes.append(await cluster.master())  # a machine that boots before its turn
    await eventually(lambda: nodes[-1].events("schema_is_newer"), within_s=20)
    assert "NORMAL" in cluster.shoal("master", "list")
    cluster.start(1, 10)
    await cluster.all_ends()
    assert cluster.one("SELECT count(*) FROM workflow_instance WHERE state = 'SUCCESS'") == 10
    for node in nodes:
        assert node.is_alive
        assert len(node.events("schema_is_newer")) == 1


@pytest.mark.parametrize("role", ["master", "worker"])
async def test_a_node_that_was_fenced_before_it_saw_a_schema_that_forbids_it_does_not_rejoin(
    cluster: Cluster, upgrade: Upgrade, role: str
) -> None:
    judge = await cluster.master()
    node = await (cluster.master() if role == "master" else cluster.worker())
    with node.stopped():
        await eventually(lambda: judge.events("node_fenced"), within_s=40)
        await upgrade("-- old nodes: must stop\nCREATE TABLE what_is_new (a int);")
    assert await node.ended(within_s=40) == exit_codes.OUTDATED, node.log.read_text()[-3000:]
    assert len(node.events("joined")) == 1


async def test_a_node_that_rejoins_after_a_fence_lives_by_the_cluster_s_times_of_then(cluster: Cluster) -> None:
    judge = await cluster.master()
    cluster.environment = {name: value for name, value in cluster.environment.items() if "TIMING" not in name}
    worker = await cluster.worker()
    former = worker.epoch
    with worker.stopped():
        await eventually(lambda: judge.events("node_fenced"), within_s=40)
        shoal = CommandLine.at(cluster.environment["SHOAL_DATABASE_URL"])
        assert (await shoal("db", "timing", "--set", "worker_fence_after=9")).code == 0
    await eventually(lambda: len(worker.events("joined")) == 2, within_s=40)
    assert (cluster.one(SAID, former), cluster.one(SAID, worker.epoch)) == ("5.0", "9.0")
    assert worker.is_alive
    worker.signal(signal.SIGTERM)
    assert await worker.ended() == 0
