"""Logs that outlive their worker: in a shared folder, read by the same doors."""

from __future__ import annotations

import os
import shutil
import signal
from pathlib import Path

import pytest

from tests.cluster.cluster import Cluster
from tests.eventually import eventually
from tests.servers.warm import run_verb


@pytest.fixture
def shared(cluster: Cluster, tmp_path: Path) -> Path:
    """A shared folder that is the log store of all processes."""
    folder = tmp_path / "shared"
    folder.mkdir()
    cluster.environment |= {"SHOAL_LOG_STORE__URL": folder.as_uri(), "SHOAL_LOG_STORE__TIMEOUT": "2"}
    return folder


def define(cluster: Cluster, script: str, code: int = 1, **task: object) -> None:
    cluster.define(code, f"flow{code}", tasks=[{"name": "a", "type": "SHELL", "params": {"script": script}, **task}])


def stored(cluster: Cluster) -> int:
    return int(cluster.one("SELECT count(*) FROM stored_log"))


async def test_logs_are_read_when_their_worker_and_its_disk_are_gone(cluster: Cluster, shared: Path) -> None:
    define(cluster, "echo said; seq 1 20000")
    await cluster.master()
    worker = await cluster.worker()
    cluster.start(1, 3)
    await cluster.all_ends()
    assert cluster.shoal("log", "1/a").startswith("said\n1\n2\n"), "from the worker"
    await eventually(lambda: stored(cluster) == 3)
    worker.kill()
    shutil.rmtree(cluster.folder / "worker-1")
    await cluster.worker()
    expected = "said\n" + "".join(f"{number}\n" for number in range(1, 20_001))
    for run in (1, 2, 3):
        assert cluster.shoal("log", f"{run}/a") == expected
    assert cluster.one("SELECT min(size) FROM stored_log") == len(expected)


async def test_a_store_that_is_away_delays_nothing_and_gets_all_logs_when_it_is_back(
    cluster: Cluster, shared: Path, tmp_path: Path
) -> None:
    """Also those of a worker that was killed meanwhile and started again, which finds them on its disk."""
    define(cluster, "echo said $SHOAL_TASK_INSTANCE")
    place = {"SHOAL_WORKER__FOLDER": str(tmp_path / "disk"), "SHOAL_NAME": "w"}
    await cluster.master()
    worker = await cluster.worker(**place)
    cluster.start(1)
    await cluster.all_ends()
    await eventually(lambda: stored(cluster) == 1)
    shared.rename(tmp_path / "away")
    cluster.start(1, 20)
    await cluster.all_ends()
    reason = "SELECT coalesce((SELECT reason FROM log_copying ORDER BY node_id DESC LIMIT 1), '')"
    await eventually(lambda: cluster.one(reason), within_s=15)
    assert "is not there: its folder does not exist on this machine; mount or make it" in cluster.one(reason)
    doctor = run_verb(["doctor"], {**os.environ, **cluster.environment}, cwd=cluster.folder).out
    assert "worker w:" in doctor
    assert "is not there: its folder does not exist on this machine; mount or make it" in doctor
    assert not shared.exists(), "nothing is written below where it was mounted"
    worker.kill()
    again = await cluster.worker(**place)
    await eventually(lambda: again.events("logs_not_copied"), within_s=15)
    assert stored(cluster) == 1
    assert cluster.shoal("log", "2/a").startswith("said "), "from the worker"
    shared.mkdir()
    await eventually(lambda: "has lost its file" in cluster.one(reason), within_s=30)
    shared.rmdir()
    (tmp_path / "away").rename(shared)
    await eventually(lambda: stored(cluster) == 21, within_s=30)
    await eventually(lambda: cluster.one(reason) == "", within_s=15)
    again.kill()
    shutil.rmtree(tmp_path / "disk")
    for (id_,) in cluster.rows("SELECT id FROM task_instance"):
        assert cluster.shoal("log", str(id_)) == f"said {id_}\n"


async def test_the_store_of_another_cluster_is_left_alone(cluster: Cluster, shared: Path) -> None:
    (shared / "shoal-log-store").write_text("6b1e4ed0-6f0e-4ab8-8f3c-000000000000\n")
    define(cluster, "echo said")
    await cluster.master()
    await cluster.worker()
    cluster.start(1)
    await cluster.all_ends()
    reason = "SELECT coalesce(max(reason), '') FROM log_copying"
    await eventually(lambda: "belongs to another cluster" in cluster.one(reason), within_s=15)
    assert [each.name for each in shared.iterdir()] == ["shoal-log-store"]


async def test_a_worker_that_leaves_with_its_disk_copies_first(cluster: Cluster, shared: Path) -> None:
    define(cluster, "echo said $SHOAL_TASK_INSTANCE")
    await cluster.master()
    worker = await cluster.worker()
    cluster.start(1, 30)
    await cluster.all_ends()
    worker.signal(signal.SIGTERM)
    assert await worker.ended() == 0
    shutil.rmtree(cluster.folder / "worker-1")
    assert stored(cluster) == 30
    assert cluster.shoal("log", "30/a").startswith("said ")


async def test_one_sentence_says_why_nobody_has_a_log(cluster: Cluster, shared: Path) -> None:
    define(cluster, "echo said; sleep 60", on_worker_loss="fail")
    define(cluster, "echo said", 2)
    define(cluster, "true", 3)
    await cluster.master()
    worker = await cluster.worker()
    cluster.start(2)
    await cluster.all_ends()
    cluster.start(3)
    await cluster.all_ends()
    await eventually(lambda: stored(cluster) == 2)
    cluster.start(1)
    running = "SELECT count(*) FROM task_instance WHERE state = 'RUNNING_EXECUTION'"
    await eventually(lambda: cluster.one(running) == 1)
    worker.kill()
    shutil.rmtree(cluster.folder / "worker-1")
    await cluster.all_ends()

    def refused(name: str, **environment: str) -> str:
        answer = run_verb(["log", name], {**os.environ, **cluster.environment, **environment}, cwd=cluster.folder)
        assert (answer.code != 0, answer.out) == (True, "")
        assert answer.err.count("\n") == 1
        return answer.err

    since = cluster.one("SELECT to_char(ended_at, 'YYYY-MM-DD HH24:MI:SS') FROM node WHERE kind = 'WORKER'")
    said = refused("flow1/a")
    assert f"which is gone since {since} UTC (" in said
    assert "and was not copied to the log store before" in said
    assert "no log store is set (log_store.url)" in refused("flow1/a", SHOAL_LOG_STORE__URL="")
    assert "no log store is set here; set log_store.url as the workers have it" in refused(
        "flow2/a", SHOAL_LOG_STORE__URL=""
    )
    assert cluster.shoal("log", "flow3/a") == "", "an empty log needs no copy"
    (copy,) = shared.glob("2*/2/*/*.log")
    copy.unlink()
    assert "has no longer the copy that was stored" in refused("flow2/a")
    shared.rename(cluster.folder / "away")
    said = refused("flow2/a")
    assert f"which had the log, is gone since {since} UTC; its copy cannot be read: the log store" in said
    assert "is not there: its folder does not exist on this machine" in said
