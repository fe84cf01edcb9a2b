"""The figures of the cluster over the last hour: read when somebody asks, from beats and queues."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest

from dao.cluster import cluster_figures
from model.accounts.rights import Scope
from service.cluster import figure_samples
from tests.api.serving import BASE, Serving, token_of

Sql = Callable[[str], list[tuple[Any, ...]]]
QUEUED = """
    INSERT INTO task_instance (workflow_instance_id, task_code, task_name, task_type, state, worker_group,
                               workflow_priority, task_priority, queued_at)
    SELECT n, 1, 'a', 'FAKE', 'QUEUED', 'gpu', 'MEDIUM', 'MEDIUM', now() - interval '70 s' FROM generate_series(1, 6) n
"""


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each question reads."""
    monkeypatch.setattr(figure_samples, "EVERY_S", 0)
    monkeypatch.setattr(figure_samples, "SHARE_MAX", 1e9)


def beaten(sql: Sql, node: int, ago_s: int, *, later_s: int = 0, **counted: float) -> None:
    """A worker's first beat was so many seconds ago, or its next one so many seconds later, and had counted that."""
    beat = {"epoch": node, "kind": "WORKER", "address": f"w{node}", "counted": counted}
    sql(f"""INSERT INTO node_beat (node_id, beat_no, heartbeat, beaten_at)
            VALUES ({node}, 1, '{json.dumps(beat)}', clock_timestamp() - interval '{ago_s} s')
            ON CONFLICT (node_id) DO UPDATE
                SET heartbeat = EXCLUDED.heartbeat, beaten_at = node_beat.beaten_at + interval '{later_s} s'""")


def enlisted(sql: Sql, name: str) -> int:
    """A worker that lives."""
    [(node,)] = sql(f"""INSERT INTO node (incarnation, kind, address, name, process_boot, process_id, process_started)
                        VALUES (gen_random_uuid(), 'WORKER', '{name}', '{name}', 'b', 1, 1) RETURNING id""")
    return int(node)


@pytest.mark.usefixtures("at_once")
async def test_what_waits_and_what_is_done_in_a_second(api: Serving, sql: Sql) -> None:
    one, old = enlisted(sql, "w1"), enlisted(sql, "w2")
    beaten(sql, one, 10, started=100, ended=90, waits=100, waits_s=1.0)
    sql(f"INSERT INTO node_beat (node_id, beat_no, heartbeat) VALUES ({old}, 1, '{{}}')")
    sql(f"SET session_replication_role = replica; {QUEUED}")
    sql("INSERT INTO command (type, created_at) VALUES ('START_PROCESS', now() - interval '40 s')")
    async with api.client(await token_of(api.backend, "eve", scopes=frozenset({Scope.CLUSTER_READ}))) as client:
        [first] = (await client.get(f"{BASE}/cluster-figures")).json()["items"]
        assert (first["queued"], first["commands"], first["running"], first["runs"]) == (6, 1, 0, 0)
        assert 70 <= first["oldest_queued_s"] < 600
        assert 40 <= first["oldest_command_s"] < 600
        assert not {"started_per_s", "lag_s"} & first.keys(), "nothing is known of a second yet"
        beaten(sql, one, 0, later_s=10, started=200, ended=140, waits=200, waits_s=3.0)
        page = (await client.get(f"{BASE}/cluster-figures", params={"since": first["at"]})).json()
        [then] = page["items"]
        assert then["at"] > first["at"]
        assert abs(then["started_per_s"] - 10) < 1e-3
        assert abs(then["ended_per_s"] - 5) < 1e-3
        assert then["commands_per_s"] == 0
        assert abs(then["lag_s"] - 0.02) < 1e-6


async def test_many_who_ask_at_once_read_once_and_the_hour_is_bounded(
    api: Serving, monkeypatch: pytest.MonkeyPatch
) -> None:
    reads = 0
    read = cluster_figures.read

    async def counting(*given: Any) -> Any:
        nonlocal reads
        reads += 1
        return await read(*given)

    monkeypatch.setattr(cluster_figures, "read", counting)
    samples = api.backend.samples
    await asyncio.gather(*(samples.renew(api.database) for _ in range(20)))
    await samples.renew(api.database)
    assert (reads, len(samples.kept)) == (1, 1)
    monkeypatch.setattr(figure_samples, "EVERY_S", 0)
    monkeypatch.setattr(figure_samples, "SHARE_MAX", 1e9)
    samples._rests_until_s = 0
    samples.kept.extend([samples.kept[0]] * 2_000)
    await samples.renew(api.database)
    assert len(samples.kept) == figure_samples.KEPT_MAX == 720
    monkeypatch.setattr(figure_samples, "KEPT", figure_samples.KEPT * 0)
    await samples.renew(api.database)
    assert len(samples.kept) == 1


@pytest.mark.usefixtures("at_once")
async def test_after_a_time_that_nobody_watched_the_rates_begin_again(
    api: Serving, sql: Sql, monkeypatch: pytest.MonkeyPatch
) -> None:
    node = enlisted(sql, "w1")
    samples = api.backend.samples
    beaten(sql, node, 20, started=100)
    await samples.renew(api.database)
    monkeypatch.setattr(figure_samples, "GAP_S", 0.0)
    beaten(sql, node, 0, later_s=20, started=200)
    await samples.renew(api.database)
    assert [each.started_per_s for each in samples.kept] == [None, None]


async def test_who_may_not_see_the_cluster_gets_none(api: Serving) -> None:
    async with api.client(await token_of(api.backend, "eve", scopes=frozenset({Scope.RUNS_READ}))) as client:
        assert (await client.get(f"{BASE}/cluster-figures")).status_code == 403
