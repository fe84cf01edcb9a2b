"""No decision depends on a machine's clock: each node has a wrong one of its own, and nothing comes of it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.cluster.cluster import Cluster, Node
from tests.cluster.wrong_clock import WrongClock
from tests.eventually import eventually

HOUR = timedelta(hours=1)
SECOND = timedelta(seconds=1)
FIRES = 4
IN_EARNEST = {
    "SHOAL_TIMING__HEARTBEAT_EVERY": "2",
    "SHOAL_TIMING__SESSION_TIMEOUT": "30",
    "SHOAL_TIMING__MASTER_FENCE_AFTER": "30",
    "SHOAL_TIMING__WORKER_FENCE_AFTER": "60",
}
"""Far more than a busy machine may hold a process up, and far less than the clocks are off."""


def _ahead(cluster: Cluster, node: Node) -> timedelta:
    """How far the clock of a node's last log line is ahead of the database's; lines are frequent enough."""
    lines = [line for line in node.lines() if "timestamp" in line]
    said = datetime.fromisoformat(str(lines[-1]["timestamp"]).replace("Z", "+00:00"))
    now: datetime = cluster.one("SELECT clock_timestamp()")
    return said.astimezone(UTC) - now.astimezone(UTC)


def _define(cluster: Cluster) -> None:
    """A schedule of every second; a workflow that waits, retries and has a timeout."""
    cluster.define(1001, "tick", tasks=[{"name": "tick", "type": "FAKE"}])
    script = cluster.journal.script('[ "$SHOAL_ATTEMPT" -gt 1 ] || exit 3')
    cluster.define(1002, "waits", tasks=[
        {"name": "late", "type": "FAKE", "delay_time": 0.05},
        {"name": "again", "type": "SHELL", "after": ["late"], "params": {"script": script},
         "retry_times": 1, "retry_interval": 0.05, "timeout": 1},
    ])  # fmt: skip
    cluster.rows("INSERT INTO schedule (workflow_code, crontab) VALUES (1001, '* * * * * ?')")


def _fires(cluster: Cluster) -> list[tuple[datetime, datetime]]:
    """(the time that was due, when its run was made) by the database's clock."""
    query = "SELECT schedule_time, started_at FROM workflow_instance WHERE workflow_code = 1001 ORDER BY schedule_time"
    return cluster.rows(query)


async def _some_fires(cluster: Cluster) -> None:
    before = len(_fires(cluster))
    await eventually(lambda: len(_fires(cluster)) >= before + FIRES, within_s=40)


@pytest.mark.timeout(180)
async def test_wrong_drifting_and_stepping_clocks_fence_nobody_and_fire_nothing_early(
    laptop: Cluster, tmp_path: Path
) -> None:
    cluster = laptop  # kazoo's threads and libfaketime 0.9.10 keep each other waiting for seconds
    _define(cluster)
    ahead, behind, fast = WrongClock(tmp_path, 1), WrongClock(tmp_path, -1), WrongClock(tmp_path, 2, rate=1.05)
    masters = [await cluster.master(**IN_EARNEST, **clock.environment) for clock in (ahead, behind)]
    workers = [await cluster.worker(**IN_EARNEST, **clock.environment) for clock in (fast, behind)]
    for node, hours in zip([*masters, *workers], (1, -1, 2, -1), strict=True):
        assert abs(_ahead(cluster, node) - hours * HOUR) < 0.2 * HOUR, "the clock is as wrong as it should be"
    await cluster.slots_become(2)
    cluster.start(1002, 5)
    await _some_fires(cluster)
    ahead.step(-1)
    behind.step(3)
    await _some_fires(cluster)
    cluster.start(1002, 5)
    cluster.rows("UPDATE schedule SET state = 'OFFLINE'")
    await cluster.all_ends(within_s=60)

    fires = _fires(cluster)
    assert [due for due, _ in fires] == [fires[0][0] + number * SECOND for number in range(len(fires))]
    assert [due for due, made in fires if made < due] == [], "none was early"
    assert cluster.rows("SELECT kind, address, ended_why FROM node WHERE state <> 'ALIVE'") == []
    assert cluster.rows("SELECT state, count(*) FROM workflow_instance WHERE workflow_code = 1002 GROUP BY 1") == [
        ("SUCCESS", 10)
    ]
    waits = """SELECT count(*), count(*) FILTER (WHERE t.started_at >= t.due_at
                                                   AND t.due_at >= coalesce(b.ended_at, i.started_at) + interval '3 s')
               FROM task_instance t JOIN workflow_instance i ON i.id = t.workflow_instance_id
               LEFT JOIN task_instance b ON b.workflow_instance_id = t.workflow_instance_id
                    AND b.task_code = t.task_code AND b.attempt = t.attempt - 1
               WHERE t.due_at IS NOT NULL"""
    assert cluster.rows(waits) == [(20, 20)], "no wait was cut short"
