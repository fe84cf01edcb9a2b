"""Logs that outlive their worker: in a shared folder, read by the same doors."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.cluster.cluster import Cluster
from tests.eventually import eventually


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
