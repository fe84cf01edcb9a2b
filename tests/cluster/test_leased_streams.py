"""Streams that hold resources of pools for as long as they run, on real processes.

That no two have one resource, and that no stream lives twice, is seen by the streams themselves, which lock files.
"""

from __future__ import annotations

import asyncio
import signal
from typing import Any

import pytest

from tests.cluster.cluster import Cluster
from tests.cluster.test_pools import locking, make_pool
from tests.cluster.test_streams import STREAMS
from tests.eventually import eventually
from tests.shoal.command_line import CommandLine

HOLDERS = """
    SELECT count(*) FROM pool_resource r JOIN task_instance t ON t.id = r.task_instance_id AND t.worker_id = r.worker_id
    WHERE t.state = 'RUNNING_EXECUTION'
"""
TAKEN = "SELECT count(*) FROM pool_resource WHERE task_instance_id IS NOT NULL"
QUEUED = "SELECT count(*) FROM task_instance WHERE state = 'QUEUED'"
LINE = "SELECT count(*) FROM pool_line"


def _stream(cluster: Cluster, name: str, needs: dict[str, int], **task: Any) -> dict[str, Any]:
    once = 'exec {own}>>"own-$SHOAL_TASK_KEY"; flock -n $own || echo "$SHOAL_TASK_KEY lives twice" >> two-holders'
    script = f"cd {cluster.folder}\n{once}\n{locking(cluster, needs, 'sleep 3600')}"
    return {"name": name, "type": "SHELL", "stream": True, "params": {"script": script}, "resources": needs, **task}


def _define(cluster: Cluster, count: int, size: int, **task: Any) -> None:
    """Define a workflow with `count` streams that need one resource of a pool of this size."""
    make_pool(cluster, "proxies", size)
    cluster.define(1, "crawl", tasks=[_stream(cluster, f"s{n}", {"proxies": 1}, **task) for n in range(count)])


def _spread(cluster: Cluster) -> list[int]:
    return sorted(count for _, count in cluster.rows(STREAMS))


async def _spreads(cluster: Cluster, *expected: int, within_s: float = 30) -> None:
    """Wait until they run so; then each resource has one of them."""
    await eventually(lambda: _spread(cluster), within_s=within_s, until=list(expected))
    assert cluster.one(HOLDERS) == cluster.one(TAKEN) == sum(expected)


def _nobody_twice(cluster: Cluster) -> None:
    seen = cluster.folder / "two-holders"
    assert not seen.exists(), seen.read_text()


async def _says(cluster: Cluster, *words: str) -> str:
    said = await CommandLine.at(**cluster.environment)(*words)
    return said.out + said.err


async def _shoal(cluster: Cluster, *words: str) -> None:
    await asyncio.to_thread(cluster.shoal, *words)


async def test_more_streams_than_resources_are_spread_evenly_through_a_death_a_return_and_a_drain(
    cluster: Cluster,
) -> None:
    _define(cluster, 9, 6)
    for _ in range(2):
        await cluster.master(SHOAL_MASTER__REBALANCE_AFTER="1")
    workers = [await cluster.worker(SHOAL_NAME=f"w{n}") for n in range(3)]
    cluster.start(1)
    await _spreads(cluster, 2, 2, 2)
    assert cluster.one(QUEUED) == 3
    assert cluster.one("SELECT max(attempt) FROM task_instance") == 1, "nothing had to move for that"
    workers[0].kill()
    await _spreads(cluster, 3, 3)
    await cluster.worker(SHOAL_NAME="w3")
    await _spreads(cluster, 2, 2, 2, within_s=60)
    await _shoal(cluster, "worker", "drain", "w1", "--wait")
    await _spreads(cluster, 3, 3)
    assert workers[1].epoch not in dict(cluster.rows(STREAMS))
    assert cluster.rows("SELECT reason FROM task_instance WHERE state = 'FAILURE'") == []
    _nobody_twice(cluster)


async def test_a_worker_that_sleeps_keeps_its_resources_until_its_streams_have_surely_ended(cluster: Cluster) -> None:
    _define(cluster, 4, 4)
    await cluster.master()
    sleeper, other = [await cluster.worker() for _ in range(2)]
    cluster.start(1)
    await _spreads(cluster, 2, 2)
    held = "SELECT count(*) FROM pool_resource WHERE worker_id = %s"
    state = "SELECT state FROM node WHERE id = %s"
    with sleeper.stopped():
        await eventually(lambda: cluster.one(held, sleeper.epoch) == 0, within_s=30)
        assert cluster.one(state, sleeper.epoch) == "FENCED"
        await eventually(lambda: dict(cluster.rows(STREAMS)), within_s=20, until={other.epoch: 4})
    _nobody_twice(cluster)


async def test_streams_with_and_without_resources_are_even_together(cluster: Cluster) -> None:
    make_pool(cluster, "proxies", 4)
    plain = [_stream(cluster, f"p{n}", {}) for n in range(4)]
    cluster.define(1, "crawl", tasks=[*plain, *(_stream(cluster, f"s{n}", {"proxies": 1}) for n in range(6))])
    await cluster.master(SHOAL_MASTER__REBALANCE_AFTER="0")
    for _ in range(2):
        await cluster.worker()
    cluster.start(1)
    await eventually(lambda: _spread(cluster), within_s=30, until=[4, 4])
    assert cluster.one(QUEUED) == 2
    _nobody_twice(cluster)


async def test_a_stream_that_ends_gives_its_resource_to_the_next_and_claims_one_again(cluster: Cluster) -> None:
    make_pool(cluster, "proxies", 1)
    failing = _stream(cluster, "failing", {"proxies": 1}, restart_pause="200ms")
    failing["params"]["script"] = "exit 3"
    cluster.define(1, "crawl", tasks=[failing, _stream(cluster, "steady", {"proxies": 1})])
    await cluster.master()
    await cluster.worker()
    cluster.start(1)
    running = "SELECT task_name FROM task_instance WHERE state = 'RUNNING_EXECUTION'"
    await eventually(lambda: cluster.rows(running), within_s=30, until=[("steady",)])
    await eventually(lambda: cluster.one(QUEUED), within_s=30, until=1)
    why = await _says(cluster, "why", "1/failing")
    assert "failing waits for pool proxies: 1 of 1 taken, by a stream, which runs until it is stopped" in why, why
    shown = await _says(cluster, "pool", "show", "proxies")
    assert "1/steady" in shown
    assert "1/failing" in shown
    assert "when stopped" in shown, shown
    await _shoal(cluster, "task", "restart", "1", "--task", "steady")
    attempts = "SELECT count(*) FROM task_instance WHERE task_name = 'failing' AND exit_code = 3"
    await eventually(lambda: cluster.one(attempts) >= 2, within_s=30)
    _nobody_twice(cluster)


async def test_a_restart_of_all_does_not_wait_for_those_that_wait_for_a_pool(cluster: Cluster) -> None:
    """The next in line get what those give back that are restarted, and the rest goes on."""
    _define(cluster, 4, 2)
    await cluster.master(SHOAL_MASTER__LOOK_EVERY="0.2")
    await cluster.worker()
    cluster.start(1)
    await _spreads(cluster, 2)
    first = {id_ for (id_,) in cluster.rows("SELECT id FROM task_instance WHERE state = 'RUNNING_EXECUTION'")}
    await _shoal(cluster, "task", "restart", "1")
    asked = "SELECT count(*) FROM stream_restart"
    await eventually(lambda: cluster.one(asked), within_s=50, until=0)
    await _spreads(cluster, 2)
    now = {id_ for (id_,) in cluster.rows("SELECT id FROM task_instance WHERE state = 'RUNNING_EXECUTION'")}
    assert not first & now
    _nobody_twice(cluster)


async def test_a_pause_and_a_stop_free_the_resources_at_once_and_nobody_waits_any_more(cluster: Cluster) -> None:
    _define(cluster, 4, 2)
    await cluster.master()
    await cluster.worker()
    cluster.start(1)
    await _spreads(cluster, 2)
    await _shoal(cluster, "pause", "1", "--wait")
    assert cluster.rows("SELECT DISTINCT state FROM task_instance") == [("PAUSE",)]
    assert (cluster.one(TAKEN), cluster.one(LINE)) == (0, 0)
    await _shoal(cluster, "resume", "1")
    await _spreads(cluster, 2)
    await _shoal(cluster, "stop", "1", "--wait")
    assert (cluster.one(TAKEN), cluster.one(LINE)) == (0, 0)
    _nobody_twice(cluster)


async def test_a_worker_that_is_stopped_gives_its_streams_to_others_at_once(cluster: Cluster) -> None:
    _define(cluster, 4, 4)
    await cluster.master()
    first, second = [await cluster.worker() for _ in range(2)]
    cluster.start(1)
    await _spreads(cluster, 2, 2)
    first.signal(signal.SIGTERM)
    assert await first.ended() == 0
    await eventually(lambda: dict(cluster.rows(STREAMS)), within_s=20, until={second.epoch: 4})
    assert cluster.one(HOLDERS) == 4
    _nobody_twice(cluster)


async def test_a_worker_that_sleeps_holds_up_nobody(cluster: Cluster) -> None:
    _define(cluster, 4, 4)
    await cluster.master()
    first, second = [await cluster.worker() for _ in range(2)]
    with first.stopped():
        cluster.start(1)
        await eventually(lambda: dict(cluster.rows(STREAMS)), within_s=20, until={second.epoch: 4})
    _nobody_twice(cluster)


async def test_no_stream_moves_that_would_lose_its_resources_to_other_tasks(cluster: Cluster) -> None:
    make_pool(cluster, "proxies", 6)
    plain = [_stream(cluster, f"p{n}", {}) for n in range(2)]
    cluster.define(1, "crawl", tasks=[*plain, *(_stream(cluster, f"s{n}", {"proxies": 1}) for n in range(6))])
    task = {"name": "fetch", "type": "SHELL", "params": {"script": ":"}, "resources": {"proxies": 1}}
    cluster.define(2, "fetch", tasks=[task])
    await cluster.master(SHOAL_MASTER__REBALANCE_AFTER="0", SHOAL_MASTER__LOOK_EVERY="0.2")
    await cluster.worker()
    cluster.start(1)
    await eventually(lambda: _spread(cluster), within_s=30, until=[8])
    cluster.start(2)
    await eventually(lambda: cluster.one(QUEUED), within_s=30, until=1)
    await cluster.worker()
    await _shoal(cluster, "worker", "rebalance")
    await eventually(lambda: cluster.one("SELECT count(*) FROM rebalance"), within_s=30, until=0)
    await eventually(lambda: _spread(cluster), within_s=30, until=[2, 6])
    assert cluster.rows("SELECT count(*), max(attempt) FROM task_instance WHERE resources IS NOT NULL") == [(7, 1)]
    _nobody_twice(cluster)


@pytest.mark.soak
async def test_thirty_streams_on_twenty_resources(cluster: Cluster) -> None:
    _define(cluster, 30, 20)
    for _ in range(2):
        await cluster.master(SHOAL_MASTER__REBALANCE_AFTER="1")
    workers = [await cluster.worker() for _ in range(4)]
    cluster.start(1)
    await _spreads(cluster, 5, 5, 5, 5)
    for worker in workers[:2]:
        worker.kill()
    await _spreads(cluster, 10, 10)
    for _ in range(2):
        await cluster.worker()
    await _spreads(cluster, 5, 5, 5, 5, within_s=120)
    _nobody_twice(cluster)
