"""The operations behind the picture of the slots: arrivals live and of a time, the servers, and the drill's refusal."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, cast

import pytest

from shoal.local.drill import DrillServer
from shoal.local.local_cluster import LocalCluster
from tests.api.serving import BASE, Serving, serving, token_of
from tests.shoal.fake_masters import FakeCluster

Sql = Callable[[str], list[tuple[Any, ...]]]
HISTORY = """
    INSERT INTO command_history (command_id, type, outcome, master_id, created_at, handled_at)
    SELECT n, 'START_PROCESS', 'DONE', 1, now() - interval '2 h' + n * interval '1 s',
           now() - interval '2 h' + n * interval '1 s' + interval '40 ms'
    FROM generate_series(1, 3000) AS n
"""


async def test_commands_of_a_time_are_found_without_reading_the_others(api: Serving, sql: Sql) -> None:
    sql(HISTORY)
    [(first,)] = sql("SELECT created_at FROM command_history WHERE command_id = 1200")
    async with api.client(await token_of(api.backend, "eve", is_admin=True)) as client:

        async def ids(after: datetime, before: datetime, **more: int) -> tuple[list[int], bool]:
            query: dict[str, str | int] = {
                "arrived_after": after.isoformat(),
                "arrived_before": before.isoformat(),
                **more,
            }
            answer = await client.get(f"{BASE}/commands:arrived", params=query)
            assert answer.status_code == 200, answer.text
            return [int(each["id"]) for each in answer.json()["items"]], answer.json()["has_more"]

        minute = timedelta(seconds=60)
        assert await ids(first, first + minute) == (list(range(1200, 1260)), False)
        assert await ids(first, first + minute, limit=10) == (list(range(1200, 1210)), True)
        assert await ids(first - timedelta(days=1), first - timedelta(days=1) + minute) == ([], False), "before all"
        assert await ids(first + timedelta(days=1), first + timedelta(days=1) + minute) == ([], False), "after all"
        query = {"arrived_after": first.isoformat(), "arrived_before": (first + timedelta(hours=2)).isoformat()}
        refused = await client.get(f"{BASE}/commands:arrived", params=query)
        assert (refused.status_code, "one hour" in refused.json()["detail"]) == (422, True)


async def test_a_frame_has_what_waits_and_what_was_taken_since_the_one_before(api: Serving, sql: Sql) -> None:
    sql("INSERT INTO command (type, workflow_code) VALUES ('START_PROCESS', 1)")
    sql(HISTORY.replace("- interval '2 h'", "- interval '3000 s'"))
    async with api.client(await token_of(api.backend, "eve", is_admin=True)) as client:
        frame = (await client.get(f"{BASE}/slots:frame")).json()
        waiting = [each for each in frame["arrivals"] if "handled_at" not in each]
        assert len(waiting) == 1
        assert 25 <= len(frame["arrivals"]) <= 40, "those of thirty seconds"
        next_one = (await client.get(f"{BASE}/slots:frame", params={"since": frame["now"]})).json()
        assert [each["id"] for each in next_one["arrivals"]] == [each["id"] for each in waiting]


async def test_database_and_registry_are_described(api: Serving) -> None:
    async with api.client(await token_of(api.backend, "ada", is_admin=True)) as client:
        database = (await client.get(f"{BASE}/database")).json()
        assert database["connections_max"] > sum(each["count"] for each in database["sessions"]) > 0
        assert "command" in {each["name"] for each in database["tables"]}
        registry = (await client.get(f"{BASE}/registry")).json()
        assert (registry["is_database"], registry["masters"]) == (True, [])


async def test_without_shoal_up_there_is_no_drill(api: Serving) -> None:
    async with api.client(await token_of(api.backend, "ada", is_admin=True)) as client:
        drill = (await client.get(f"{BASE}/drill")).json()
        assert (drill["is_possible"], "shoal up" in drill["why_not"]) == (False, True)
        refused = await client.post(f"{BASE}/drill:kill", json={"master": "m1"})
        assert (refused.status_code, "shoal up" in refused.json()["detail"]) == (422, True)


async def test_a_drill_kills_once_for_a_key_is_in_the_audit_and_only_for_admins(
    database_url: str, tmp_path: Path, sql: Sql, monkeypatch: pytest.MonkeyPatch
) -> None:
    socket, cluster = tmp_path / "drill.sock", FakeCluster()
    monkeypatch.setenv("SHOAL_API__DRILL_SOCKET", str(socket))
    async with DrillServer(cast("LocalCluster", cluster)).serve(socket), serving(database_url) as api:
        async with api.client(await token_of(api.backend, "eve")) as client:
            assert (await client.post(f"{BASE}/drill:kill", json={"master": "m1"})).status_code == 403
            assert (await client.get(f"{BASE}/drill")).status_code == 403
        ada = await token_of(api.backend, "ada", is_admin=True)
        async with api.client(ada, **{"Idempotency-Key": "once"}) as client:
            for _ in range(2):
                answer = await client.post(f"{BASE}/drill:kill", json={"master": "m1"})
                assert (answer.status_code, answer.json()) == (200, {"master": "m1", "pid": 11})
            assert (await client.get(f"{BASE}/drill")).json()["is_possible"] is False, "the last one stays"
    assert [len(each.sent) for each in cluster.masters] == [1, 0]
    assert sql("SELECT actor, outcome FROM audit WHERE action = 'kill_master' ORDER BY id") == [
        ("eve", "DENIED"),
        ("ada", "DONE"),
    ]
