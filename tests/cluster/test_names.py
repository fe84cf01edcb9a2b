"""A node's identity does not depend on its address, and no two share a name or a folder."""

from __future__ import annotations

import signal
from pathlib import Path

from tests.cluster.cluster import Cluster, Node
from tests.eventually import eventually

ALIVE = "SELECT name FROM node WHERE state = 'ALIVE' ORDER BY id"


def _start(cluster: Cluster, role: str, **extra: str) -> Node:
    node = Node(cluster, role, len(cluster.nodes), extra)
    cluster.nodes.append(node)
    return node


async def test_a_second_worker_in_a_folder_is_refused_with_the_name_of_the_first(
    cluster: Cluster, tmp_path: Path
) -> None:
    place = {"SHOAL_WORKER__FOLDER": str(tmp_path / "worker")}
    first = await cluster.worker(**place)
    [name] = cluster.rows(ALIVE)[0]
    second = _start(cluster, "worker", **place)
    assert await second.ended() == 2
    assert f"is in use by worker {name} (process {first.pid})" in second.log.read_text()
    first.signal(signal.SIGKILL)
    await first.ended()
    third = await cluster.worker(**place)
    assert cluster.one("SELECT name FROM node WHERE id = %s", third.epoch) == name, "it stays with the folder"


async def test_two_nodes_of_one_name_do_not_live_at_once_and_neither_is_fenced_for_the_other(cluster: Cluster) -> None:
    for role in ("master", "worker"):
        first = await (cluster.master if role == "master" else cluster.worker)(SHOAL_NAME="one")
        second = _start(cluster, role, SHOAL_NAME="one", SHOAL_WORKER__FOLDER=str(cluster.folder / "other"))
        assert await second.ended() == 2
        assert f"another {role} one (epoch {first.epoch}) lives" in second.log.read_text()
    assert cluster.one("SELECT count(*) FROM node WHERE state <> 'ALIVE'") == 0


async def test_default_folders_do_not_depend_on_the_current_directory(cluster: Cluster, tmp_path: Path) -> None:
    place = {"SHOAL_FOLDER": str(tmp_path / "data")}
    node = _start(cluster, "worker", **place)
    await eventually(lambda: node.events("joined"), within_s=60)
    named = _start(cluster, "worker", SHOAL_NAME="w7", **place)
    await eventually(lambda: named.events("joined"), within_s=60)
    assert sorted(path.name for path in (tmp_path / "data" / "workers").iterdir()) == ["default", "w7"]
    assert not (cluster.folder / "shoal-worker").exists()
    assert cluster.rows("SELECT name FROM node ORDER BY id")[1] == ("w7",)
