"""A task that takes its worker down does not take down one after another."""

from __future__ import annotations

import pytest

from tests.cluster.cluster import Cluster

KILLS_ITS_WORKER = """
parent() { awk '{ print $4 }' "/proc/$1/stat"; }
kill -9 "$(parent "$(parent "$PPID")")"
sleep 1000
"""
"""Below the worker are its zygote and a keeper."""


@pytest.mark.timeout(180)
async def test_a_task_under_which_three_workers_were_lost_fails_and_the_fourth_lives(cluster: Cluster) -> None:
    task = {"name": "a", "type": "SHELL", "retry_times": 5, "params": {"script": KILLS_ITS_WORKER}}
    cluster.define(1, "one", tasks=[task])
    await cluster.master()
    workers = [await cluster.worker() for _ in range(4)]
    cluster.start(1)
    await cluster.all_ends()
    rows = cluster.rows("SELECT attempt, state, reason LIKE '%%suspect%%' FROM task_instance ORDER BY 1")
    lost = "NEED_FAULT_TOLERANCE"
    assert rows == [(1, lost, False), (2, lost, False), (3, "FAILURE", True)]
    assert sum(worker.is_alive for worker in workers) == 1
