"""The receipt of a failover: times, who got the runs, and what was lost or doubled, counted from rows."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from dao.cluster import receipts
from model.ids import Epoch
from tests.api.serving import BASE, Serving
from tests.cluster.cluster import Cluster
from tests.dao.explaining import Explaining
from tests.dao.scene import Scene
from tests.eventually import eventually

ONE, TWO, THREE = 1, 2, 3
NODES = """
    INSERT INTO node (incarnation, kind, address, state, process_boot, process_id, process_started, ended_at,
                      ended_why, name)
    SELECT gen_random_uuid(), 'MASTER', 'a' || n, CASE WHEN n = 1 THEN 'FENCED' ELSE 'ALIVE' END, 'b', 1, 1,
           CASE WHEN n = 1 THEN now() - interval '50 min' END, CASE WHEN n = 1 THEN 'silent' END, 'm' || n
    FROM generate_series(1, 3) AS n
"""
CHANGE = """
    INSERT INTO slot_change (number, at, members, changes)
    VALUES (7, now() - interval '50 min', '[{"epoch": "2", "name": "m2", "slot": 0}]',
            '[{"epoch": "1", "name": "m1", "reason": "LOST"}, {"epoch": "3", "name": "m3", "reason": "JOINED"}]')
"""


@pytest.fixture
async def scene(api: Serving) -> Scene:
    scene = Scene(api.database)
    for statement in (NODES, CHANGE, "INSERT INTO node_beat (node_id) SELECT generate_series(1, 3)"):
        await scene.sql(statement)
    return scene


async def run(scene: Scene, owner: int, *takers: int, outcome: str = "DONE", state: str = "RUNNING_EXECUTION") -> int:
    """A run that master 1 started an hour ago, and that these masters got one after the other since."""
    (id_,) = await scene.sql(
        "WITH made AS (INSERT INTO workflow_instance (command_id, workflow_code, workflow_version, state, master_id, "
        "failure_strategy, priority, worker_group, ended_at) SELECT coalesce(max(command_id), 0) + 1000, 1, 1, :state, "
        ":owner, 'END', 'MEDIUM', 'default', CASE WHEN :state = 'SUCCESS' THEN now() END FROM workflow_instance "
        "RETURNING id, command_id) INSERT INTO command_history (command_id, type, outcome, workflow_instance_id, "
        "master_id, created_at, handled_at) SELECT command_id, 'START_PROCESS', 'DONE', id, 1, now(), "
        "now() - interval '1 h' FROM made RETURNING workflow_instance_id",
        state=state,
        owner=owner,
    )
    for place, taker in enumerate(takers):
        await scene.sql(
            "INSERT INTO command_history (command_id, type, outcome, workflow_instance_id, master_id, created_at, "
            "handled_at) SELECT command_id + :place, 'RECOVER_TOLERANCE_FAULT_PROCESS', :outcome, id, :taker, now(), "
            "now() - interval '49 min' + :place * interval '1 min' FROM workflow_instance WHERE id = :id",
            id=id_,
            place=place + 1,
            taker=taker,
            outcome=outcome,
        )
    return int(id_)


async def receipt(client: httpx.AsyncClient, number: int = 7) -> dict[str, Any]:
    answer = await client.get(f"{BASE}/slot-changes/{number}/receipt")
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


async def attempt(scene: Scene, run: int, number: int, began: str, ended: str | None) -> None:
    await scene.sql(
        "INSERT INTO task_instance (workflow_instance_id, task_code, attempt, task_name, task_type, state, "
        "worker_group, workflow_priority, task_priority, queued_at, started_at, ended_at, flag) "
        "SELECT :run, 1, :number, 'a', 'FAKE', "
        "CASE WHEN CAST(:ended AS text) IS NULL THEN 'RUNNING_EXECUTION' ELSE 'SUCCESS' END, 'default', 'MEDIUM', "
        "'MEDIUM', now() - CAST(:began AS interval), now() - CAST(:began AS interval), "
        "now() - CAST(:ended AS interval), CASE WHEN :number = 1 THEN 'NO' ELSE 'YES' END",
        run=run,
        number=number,
        began=began,
        ended=ended,
    )


async def test_all_runs_of_a_master_went_to_others_once(admin: httpx.AsyncClient, scene: Scene) -> None:
    first = await run(scene, TWO, TWO)
    await run(scene, THREE, THREE, state="SUCCESS")
    await run(scene, THREE, TWO, THREE)  # from 1 to 2, and later from 2 to 3
    await run(scene, TWO)  # none of its failovers
    await attempt(scene, first, 1, "55 min", "52 min")
    await attempt(scene, first, 2, "51 min", None)
    found = await receipt(admin)
    (master,) = found["masters"]
    assert (found["lost"], found["doubled"], master["name"], master["reason"]) == (0, 0, "m1", "FENCED")
    assert [(each["name"], each["runs"], each["tasks"]) for each in master["by"]] == [("m2", 2, 1), ("m3", 1, 0)]
    assert (master["runs"], master["tasks"], master["waiting"], master["is_complete"]) == (3, 1, 0, True)
    assert master["fenced_why"] == "silent"
    assert master["fenced_at"] < master["failed_over_at"]
    assert (await admin.get(f"{BASE}/slot-changes/8/receipt")).status_code == 404


async def test_what_nobody_drives_is_lost_and_what_two_got_is_doubled(admin: httpx.AsyncClient, scene: Scene) -> None:
    await run(scene, ONE)  # nothing is asked for it
    waiting = await run(scene, ONE)
    await scene.sql(
        "INSERT INTO command (type, workflow_code, workflow_instance_id) "
        "VALUES ('RECOVER_TOLERANCE_FAULT_PROCESS', 1, :run)",
        run=waiting,
    )
    await run(scene, 0, TWO, outcome="ERROR")  # refused, and nobody's
    overlapping = await run(scene, TWO, TWO)
    await attempt(scene, overlapping, 1, "55 min", "40 min")
    await attempt(scene, overlapping, 2, "45 min", None)
    gone = await run(scene, TWO, TWO)
    await scene.sql(
        "DELETE FROM command_history WHERE workflow_instance_id = :run AND type = 'START_PROCESS'", run=gone
    )
    (master,) = (await receipt(admin))["masters"]
    assert (master["waiting"], master["lost"], master["doubled"]) == (1, 2, 1)
    assert "failed_over_at" not in master


async def test_it_reads_its_own_failovers_only(api: Serving, scene: Scene) -> None:
    await scene.sql(
        "INSERT INTO command_history (command_id, type, outcome, workflow_instance_id, master_id, created_at, "
        "handled_at) SELECT 500000 + n, CASE WHEN n % 500 = 0 THEN 'RECOVER_TOLERANCE_FAULT_PROCESS' "
        "ELSE 'START_PROCESS' END, "
        "'DONE', n, 2, now(), now() - n * interval '1 min' FROM generate_series(1, 20000) AS n"
    )
    await run(scene, TWO, TWO)
    (since,) = await scene.sql("SELECT now() - interval '1 day'")
    async with api.database.writing() as connection:
        explaining: Any = Explaining(connection)
        assert [each.runs for each in await receipts.taken_by(explaining, Epoch(ONE), since)] == [1]
        await receipts.left_over(explaining, Epoch(ONE), since)
    assert not explaining.plan.whole_tables & {"command_history", "workflow_instance", "task_instance"}
    assert sum(explaining.plan.read.values()) <= 100, explaining.plan


@pytest.fixture
def cluster(database_url: str, tmp_path: Path) -> Iterator[Cluster]:
    with Cluster(database_url, database_url, tmp_path) as made:
        yield made


async def test_a_master_that_is_killed_gets_a_receipt(api: Serving, admin: httpx.AsyncClient, cluster: Cluster) -> None:
    spec = {"tasks": [{"name": "a", "code": 1, "type": "FAKE", "params": {"sleep_s": 600}}]}
    scene = Scene(api.database)
    await scene.sql("INSERT INTO workflow_definition (code, name) VALUES (1, 'w')")
    await scene.sql(
        "INSERT INTO workflow_version (workflow_code, version, spec) VALUES (1, 1, CAST(:spec AS jsonb))",
        spec=json.dumps(spec),
    )
    first, _ = await cluster.master(SHOAL_NAME="m1"), await cluster.master(SHOAL_NAME="m2")
    await cluster.worker()
    await cluster.slots_become(2)
    await scene.sql("INSERT INTO command (type, workflow_code) SELECT 'START_PROCESS', 1 FROM generate_series(1, 12)")
    await eventually(lambda: cluster.one("SELECT count(*) = 12 FROM workflow_instance"))
    first.signal(signal.SIGKILL)
    await eventually(
        lambda: cluster.one(
            "SELECT count(*) = 0 AND (SELECT count(*) > 0 FROM command_history WHERE type LIKE 'RECOVER_TOL%%') "
            "FROM workflow_instance WHERE master_id = %s",
            first.epoch,
        ),
        within_s=40,
    )
    (number,) = await scene.sql("SELECT max(number) FROM slot_change")
    found = await receipt(admin, number)
    (master,) = found["masters"]
    assert (found["lost"], found["doubled"], master["name"]) == (0, 0, "m1")
    (by,) = master["by"]
    assert (by["name"], by["runs"] > 0, by["runs"], by["tasks"]) == ("m2", True, master["runs"], master["tasks"])
    assert master["last_beat_at"] < master["fenced_at"] <= master["failed_over_at"]
