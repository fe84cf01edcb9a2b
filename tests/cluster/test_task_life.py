"""The life of a task as its definition shapes it: delays, retries, timeouts; by the database's time, on real nodes."""

from __future__ import annotations

import signal

from tests.cluster.cluster import Cluster
from tests.eventually import eventually

SECOND = 1 / 60
"""In minutes."""


def _attempts(cluster: Cluster) -> list[tuple[int, str, int, float]]:
    """(attempt, state, retries, seconds that it waited) in order."""
    query = """SELECT t.attempt, t.state, t.retries,
                      extract(epoch FROM t.queued_at - coalesce(b.ended_at, i.started_at))::float8
               FROM task_instance t JOIN workflow_instance i ON i.id = t.workflow_instance_id
               LEFT JOIN task_instance b ON b.workflow_instance_id = i.id AND b.task_code = t.task_code
                                        AND b.attempt = t.attempt - 1
               ORDER BY t.attempt"""
    return [(attempt, state, retries, waited) for attempt, state, retries, waited in cluster.rows(query)]


async def test_a_failed_task_is_retried_after_its_interval(cluster: Cluster) -> None:
    life = {"retry_times": 3, "retry_interval": SECOND, "params": {"fail_attempts": 2}}
    cluster.define(1, "flaky", tasks=[{"name": "a", "type": "FAKE", **life}])
    await cluster.master()
    await cluster.worker()
    cluster.start(1)
    await cluster.all_ends()
    attempts = _attempts(cluster)
    assert [each[:3] for each in attempts] == [(1, "FAILURE", 0), (2, "FAILURE", 1), (3, "SUCCESS", 2)]
    assert all(1.0 <= waited < 20 for *_, waited in attempts[1:])
    assert cluster.one("SELECT state FROM workflow_instance") == "SUCCESS"


async def test_a_delayed_task_waits_before_it_is_queued(cluster: Cluster) -> None:
    cluster.define(1, "later", tasks=[{"name": "a", "type": "FAKE", "delay_time": 1.5 * SECOND}])
    await cluster.master()
    await cluster.worker()
    cluster.start(1)
    await eventually(lambda: cluster.one("SELECT state FROM task_instance") == "DELAY_EXECUTION")
    assert cluster.one("SELECT wait_reason FROM task_instance") == "DELAY"
    await cluster.all_ends()
    ((_, state, _, waited),) = _attempts(cluster)
    assert state == "SUCCESS"
    assert 1.5 <= waited < 20


async def test_a_wait_survives_the_master_that_set_it(cluster: Cluster) -> None:
    cluster.define(1, "later", tasks=[{"name": "a", "type": "FAKE", "delay_time": 4 * SECOND}])
    first = await cluster.master()
    await cluster.worker()
    cluster.start(1, 10)
    await eventually(lambda: cluster.one("SELECT count(*) FROM task_instance") == 10)
    first.signal(signal.SIGKILL)
    await cluster.master()
    await cluster.all_ends()
    assert cluster.rows("SELECT state, count(*) FROM task_instance GROUP BY 1") == [("SUCCESS", 10)]
    waits = "SELECT extract(epoch FROM t.queued_at - i.started_at)::float8 FROM task_instance t, workflow_instance i"
    assert all(4.0 <= waited < 30 for (waited,) in cluster.rows(f"{waits} WHERE i.id = t.workflow_instance_id"))


async def test_a_timeout_kills_the_attempt_and_fails_it_so_that_a_retry_follows(cluster: Cluster) -> None:
    script = cluster.journal.script('[ "$SHOAL_ATTEMPT" = 2 ] || sleep 300')
    life = {"timeout": SECOND, "retry_times": 1, "params": {"script": script}}
    cluster.define(1, "slow", tasks=[{"name": "a", "type": "SHELL", **life}])
    await cluster.master()
    await cluster.worker()
    cluster.start(1)
    await cluster.all_ends()
    rows = cluster.rows("SELECT attempt, state, reason FROM task_instance ORDER BY 1")
    assert rows == [(1, "FAILURE", "it took longer than its timeout of 1 s"), (2, "SUCCESS", None)]


async def test_a_timeout_that_only_warns_lets_the_attempt_go_on(cluster: Cluster) -> None:
    life = {"timeout": SECOND / 2, "timeout_strategy": "WARN", "params": {"sleep_s": 1.5}}
    cluster.define(1, "slow", tasks=[{"name": "a", "type": "FAKE", **life}])
    await cluster.master()
    worker = await cluster.worker()
    cluster.start(1)
    await cluster.all_ends()
    assert cluster.one("SELECT state FROM task_instance") == "SUCCESS"
    assert len(worker.events("task_takes_too_long")) == 1


async def test_with_end_a_failure_ends_what_waits_for_a_time_too(cluster: Cluster) -> None:
    tasks = [
        {"name": "fails", "type": "FAKE", "params": {"fail": True}},
        {"name": "later", "type": "FAKE", "delay_time": 60},
    ]
    cluster.define(1, "end", failure_strategy="END", tasks=tasks)
    await cluster.master()
    await cluster.worker()
    cluster.start(1)
    await cluster.all_ends(within_s=10)
    assert cluster.rows("SELECT reason FROM error_command") == []
    assert cluster.rows("SELECT task_name, state FROM task_instance ORDER BY 1") == [
        ("fails", "FAILURE"),
        ("later", "KILL"),
    ]
