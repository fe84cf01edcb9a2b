"""Lines that are logged while a worker runs an attempt say whose they are."""

from __future__ import annotations

from pathlib import Path

from tests.cluster.cluster import PATIENT, Cluster


async def test_each_line_about_an_attempt_has_its_run_and_its_task(database_url: str, tmp_path: Path) -> None:
    with Cluster(database_url, database_url, tmp_path, PATIENT) as cluster:
        slow = {"timeout": 0.005, "timeout_strategy": "WARN"}
        cluster.define(1, "w", tasks=[{"name": "a", "type": "SHELL", "params": {"script": "sleep 1"}, **slow}])
        await cluster.master()
        worker = await cluster.worker()
        cluster.start(1)
        await cluster.all_ends()
        (line,) = worker.events("task_takes_too_long")
        assert (line["workflow_instance"], line["task_instance"], line["epoch"]) == (1, 1, worker.epoch)
        assert "workflow_instance" not in worker.events("joined")[0]
