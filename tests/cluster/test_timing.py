"""The times of a cluster are one truth, whatever the settings of a node say."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

from tests.cluster.cluster import TIMING, Cluster, Node
from tests.eventually import eventually
from tests.shoal.command_line import CommandLine

SAID = "SELECT heartbeat::json->'silence'->>'fence_s' FROM node_beat WHERE node_id = %s"


def _without_times(cluster: Cluster) -> None:
    cluster.environment = {name: value for name, value in cluster.environment.items() if "TIMING" not in name}


def _start(cluster: Cluster, role: str, **extra: str) -> Node:
    folder = cluster.folder / f"worker-{len(cluster.nodes)}"
    node = Node(cluster, role, len(cluster.nodes), {"SHOAL_WORKER__FOLDER": str(folder), **extra})
    cluster.nodes.append(node)
    return node


async def test_a_node_whose_settings_name_other_times_than_the_cluster_s_does_not_start(cluster: Cluster) -> None:
    await cluster.master(SHOAL_TIMING__WORKER_FENCE_AFTER="6")
    worker = _start(cluster, "worker", SHOAL_TIMING__WORKER_FENCE_AFTER="40")
    assert await worker.ended() == 2
    said = worker.log.read_text()
    assert "worker_fence_after = 40 s (the cluster: 6 s)" in said
    assert "shoal db timing --set worker_fence_after=40" in said
    assert cluster.one("SELECT count(*) FROM node") == 1


async def test_a_node_whose_settings_name_no_times_lives_by_the_cluster_s(cluster: Cluster) -> None:
    await cluster.master()
    _without_times(cluster)
    worker = await cluster.worker()
    assert cluster.one(SAID, worker.epoch) == "5.0"


async def test_times_of_a_cluster_are_changed_by_a_verb_and_taken_at_the_next_start(cluster: Cluster) -> None:
    former = await cluster.master()
    _without_times(cluster)
    shoal = CommandLine.at(cluster.environment["SHOAL_DATABASE_URL"])
    odd = await shoal("db", "timing", "--set", "worker_fence_after=1")
    assert (odd.code, "worker_fence_after must exceed" in odd.err) == (2, True)
    changed = await shoal("db", "timing", "--set", "master_fence_after=3", "--json")
    assert json.loads(changed.out)["live_by_others"] == [str(former.epoch)]
    latter = await cluster.master()
    assert (cluster.one(SAID, former.epoch), cluster.one(SAID, latter.epoch)) == ("2.0", "3.0")
    refused = _start(cluster, "master", **TIMING)
    assert await refused.ended() == 2


async def test_a_worker_is_judged_by_the_times_that_it_states_not_by_its_judge_s(
    cluster: Cluster, tmp_path: Path
) -> None:
    """The master began with a shorter fence than the worker, between the starts of which somebody changed it. The
    worker sleeps; its keepers let the task run until the worker's own horizon."""
    ticks = tmp_path / "ticks"
    script = f"while :; do echo $SHOAL_ATTEMPT >> {ticks}; sleep 0.1; done"
    cluster.define(1, "ticks", tasks=[{"name": "a", "type": "SHELL", "params": {"script": script}}])
    master = await cluster.master()
    _without_times(cluster)
    shoal = CommandLine.at(cluster.environment["SHOAL_DATABASE_URL"])
    assert (await shoal("db", "timing", "--set", "worker_fence_after=12")).code == 0
    worker = await cluster.worker()
    cluster.start(1)
    await eventually(ticks.exists, within_s=20)
    await cluster.worker()
    worker.signal(signal.SIGSTOP)
    await eventually(lambda: master.events("node_fenced"), within_s=30)
    await eventually(lambda: "2\n" * 5 in ticks.read_text(), within_s=20)
    attempts = ticks.read_text().split()
    assert attempts == sorted(attempts), "two attempts ran side by side"
    os.kill(worker.pid, signal.SIGCONT)
