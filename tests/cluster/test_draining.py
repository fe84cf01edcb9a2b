"""Draining: what is drained begins nothing new, loses nothing, and takes work again when it is undrained."""

from __future__ import annotations

import asyncio
import json
import signal
from pathlib import Path
from typing import Any

from tests.cluster.cluster import Cluster
from tests.eventually import eventually
from tests.servers.postgres import PostgresServer
from tests.shoal.command_line import CommandLine


async def _shoal(cluster: Cluster, *words: str) -> dict[str, Any]:
    """The answer of a verb that succeeds."""
    found: dict[str, Any] = json.loads(await asyncio.to_thread(cluster.shoal, *words, "--json"))
    return found


async def _says(cluster: Cluster, *words: str) -> tuple[int, str]:
    """The exit code of a verb, and what it prints."""
    said = await CommandLine.at(**cluster.environment)(*words)
    return said.code, said.out + said.err


def _until(gate: Path) -> str:
    return f"while [ ! -e {gate} ]; do sleep 0.05; done"


def _waits_for(cluster: Cluster, gate: Path, **task: Any) -> None:
    script = cluster.journal.script(_until(gate))
    cluster.define(1, "waits", tasks=[{"name": "a", "type": "SHELL", "params": {"script": script}, **task}])


async def test_a_drain_under_load_loses_nothing_and_nothing_begins_once_it_is_confirmed(
    cluster: Cluster, tmp_path: Path
) -> None:
    lines = "for line in 1 2 3 4 5; do echo line $line; sleep 0.05; done"
    script = cluster.journal.script(lines)
    cluster.define(1, "short", tasks=[{"name": "a", "type": "SHELL", "params": {"script": script}}])
    await cluster.master()
    first = await cluster.worker(SHOAL_NAME="w1", SHOAL_WORKER__CAPACITY="4")
    cluster.start(1, 80)
    await eventually(lambda: len(cluster.journal.runs()) > 8, within_s=20)
    drained = await _shoal(cluster, "worker", "drain", "w1")
    confirmed_at = cluster.one("SELECT clock_timestamp()")
    assert (drained["drain"]["confirmed"], drained["is_new"], drained["alone"]) == (True, True, ["default"])
    await _shoal(cluster, "worker", "drain", "w1", "--wait")
    assert cluster.one("SELECT count(*) FROM task_instance WHERE worker_id IS NOT NULL AND ended_at IS NULL") == 0
    assert cluster.unfinished() > 0, "it was drained before everything had run"
    second = await cluster.worker(SHOAL_NAME="w2", SHOAL_WORKER__CAPACITY="8")
    await cluster.all_ends()
    cluster.check_exactly_once(80)
    query = "SELECT count(*) FROM task_instance WHERE worker_id = %s AND started_at > %s"
    assert cluster.one(query, first.epoch, confirmed_at) == 0
    assert cluster.one("SELECT count(*) FROM task_instance WHERE worker_id = %s", second.epoch) > 0
    logs = [path.read_text() for path in cluster.folder.glob("worker-*/logs/**/*.log")]
    assert len(logs) == 80
    assert all(log.count("line ") >= 5 for log in logs)
    assert not first.events("fenced")


async def test_an_undrained_worker_takes_tasks_again_at_once_and_a_drained_one_serves_its_logs(
    cluster: Cluster, tmp_path: Path
) -> None:
    gate = tmp_path / "gate"
    _waits_for(cluster, gate)
    await cluster.master()
    await cluster.worker(SHOAL_NAME="w1")
    cluster.start(1)
    await eventually(lambda: cluster.journal.runs(), within_s=20)
    drained = await _shoal(cluster, "worker", "drain", "w1")
    assert (drained["running"], drained["drain"]["confirmed"]) == (1, True)
    cluster.start(1)
    await eventually(lambda: cluster.one("SELECT count(*) FROM task_instance WHERE state = 'QUEUED'") == 1, within_s=20)
    _, why = await _says(cluster, "why", "2")
    assert "the only worker of group default is draining: w1" in why
    assert "shoal worker undrain w1" in why
    [worker] = await _shoal(cluster, "worker", "list")  # type: ignore[misc]
    assert (worker["status"], worker.get("because"), worker["drain"]["confirmed"]) == ("NORMAL", None, True)
    _, listed = await _says(cluster, "worker", "list")
    assert "DRAINING" in listed
    gate.touch()
    await asyncio.to_thread(cluster.shoal, "worker", "drain", "w1", "--wait")
    assert (await _says(cluster, "log", "1"))[0] == 0, "its log is served"
    assert cluster.one("SELECT count(*) FROM task_instance WHERE state = 'QUEUED'") == 1
    undrained = await _shoal(cluster, "worker", "undrain", "w1")
    assert (undrained["is_new"], undrained.get("drain")) == (True, None)
    await cluster.all_ends()
    cluster.check_exactly_once(2)
    again = await _says(cluster, "worker", "undrain", "w1")
    assert again == (0, "w1 was not drained.\n")
    assert cluster.rows("SELECT action, object_id, after->>'drained' FROM audit ORDER BY id") == [
        ("drain_worker", "w1", "true"),
        ("drain_worker", "w1", "true"),
        ("undrain_worker", "w1", "false"),
        ("undrain_worker", "w1", "false"),
    ]


async def test_a_drained_master_gives_its_slot_and_its_runs_to_others_and_gets_a_slot_again(
    cluster: Cluster, tmp_path: Path
) -> None:
    gate = tmp_path / "gate"
    _waits_for(cluster, gate)
    first = await cluster.master(SHOAL_NAME="m1")
    second = await cluster.master(SHOAL_NAME="m2")
    await cluster.slots_become(2)
    await cluster.worker()
    cluster.start(1, 10)
    await eventually(lambda: len(cluster.journal.runs()) == 10, within_s=20)
    code, said = await _says(cluster, "master", "drain", "m1", "--wait")
    assert (code, "m1 is empty." in said) == (0, True), said
    driven = "SELECT DISTINCT master_id FROM workflow_instance WHERE ended_at IS NULL"
    await eventually(lambda: cluster.rows(driven) == [(second.epoch,)], within_s=10)
    cluster.start(1, 10)
    await eventually(lambda: len(cluster.journal.runs()) == 20, within_s=20)
    assert cluster.rows(driven) == [(second.epoch,)]
    await eventually(lambda: list(cluster.slots().values()) == ["0/1", "None/None"], within_s=10)
    slots = await _shoal(cluster, "master", "list")
    shown = {each["name"]: (each.get("slot"), each["status"], "drain" in each) for each in slots["masters"]}
    assert shown == {"m1": (None, "NORMAL", True), "m2": (0, "NORMAL", False)}
    await _shoal(cluster, "master", "undrain", "m1")
    await cluster.slots_become(2)
    gate.touch()
    await cluster.all_ends()
    cluster.check_exactly_once(20)
    assert not first.events("fenced")
    assert set(cluster.journal.runs().values()) == {1}


async def test_with_all_masters_drained_commands_wait_and_why_says_so(cluster: Cluster) -> None:
    cluster.define(1, "fake", tasks=[{"name": "a", "type": "FAKE"}])
    await cluster.master(SHOAL_NAME="m1")
    await cluster.worker()
    drained = await _shoal(cluster, "master", "drain", "m1")
    assert (drained["drain"]["confirmed"], drained["alone"]) == (True, ["masters"])
    cluster.start(1)
    _, why = await _says(cluster, "why", "command", "1")
    assert "the only master is draining: m1" in why, why
    assert "shoal master undrain m1" in why
    assert cluster.one("SELECT count(*) FROM command") == 1
    await _shoal(cluster, "master", "undrain", "m1")
    await cluster.all_ends()
    cluster.check_exactly_once(1)


async def test_a_drain_lasts_through_a_restart_of_the_process_and_its_stop(cluster: Cluster, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    _waits_for(cluster, gate)
    folder = str(tmp_path / "of-w1")
    await cluster.master()
    first = await cluster.worker(SHOAL_NAME="w1", SHOAL_WORKER__FOLDER=folder)
    cluster.start(1)
    await eventually(lambda: cluster.journal.runs(), within_s=20)
    await _shoal(cluster, "worker", "drain", "w1")
    first.signal(signal.SIGTERM)
    await eventually(lambda: first.events("leaving"), within_s=10)
    gate.touch()
    assert await first.ended() == 0
    await cluster.all_ends()
    cluster.check_exactly_once(1)
    away = await _shoal(cluster, "worker", "drain", "w1")
    assert (away["is_alive"], away["is_new"]) == (False, False)
    await cluster.worker(SHOAL_NAME="w1", SHOAL_WORKER__FOLDER=folder)
    again = await _shoal(cluster, "worker", "drain", "w1")
    assert (again["is_alive"], again["is_new"], again["drain"]["confirmed"]) == (True, False, True)
    cluster.start(1)
    await eventually(lambda: cluster.one("SELECT count(*) FROM task_instance WHERE state = 'QUEUED'") == 1, within_s=20)
    await _shoal(cluster, "worker", "undrain", "w1")
    await cluster.all_ends()


async def test_a_sleeping_worker_does_not_confirm_and_takes_nothing_when_it_wakes(
    cluster: Cluster, tmp_path: Path
) -> None:
    gate = tmp_path / "gate"
    gate.touch()
    _waits_for(cluster, gate)
    cluster.environment |= {"SHOAL_TIMING__WORKER_FENCE_AFTER": "60", "SHOAL_TIMING__SESSION_TIMEOUT": "30"}
    cluster.environment |= {"SHOAL_TIMING__MASTER_FENCE_AFTER": "30"}
    await cluster.master()
    worker = await cluster.worker(SHOAL_NAME="w1")
    with worker.stopped():
        code, said = await _says(cluster, "worker", "drain", "w1")
        assert (code, "has not confirmed" in said) == (1, True), said
        cluster.start(1, 3)
        queued = "SELECT count(*) FROM task_instance WHERE state = 'QUEUED'"
        await eventually(lambda: cluster.one(queued) == 3, within_s=20)
    await eventually(lambda: worker.events("drained"), within_s=20)
    assert (await _shoal(cluster, "worker", "drain", "w1"))["drain"]["confirmed"] is True
    assert cluster.one(queued) == 3
    assert not cluster.journal.runs()


async def test_a_fenced_worker_is_still_drained_in_its_next_life(cluster: Cluster) -> None:
    cluster.define(1, "shell", tasks=[{"name": "a", "type": "SHELL", "params": {"script": cluster.journal.script()}}])
    await cluster.master()
    worker = await cluster.worker(SHOAL_NAME="w1")
    await _shoal(cluster, "worker", "drain", "w1")
    before = worker.epoch
    cluster.rows("UPDATE node SET state = 'FENCED', ended_at = clock_timestamp() WHERE id = %s", before)
    await eventually(lambda: worker.epoch != before, within_s=20)
    cluster.start(1)
    await eventually(lambda: cluster.one("SELECT count(*) FROM task_instance WHERE state = 'QUEUED'") == 1, within_s=20)
    assert (await _shoal(cluster, "worker", "drain", "w1"))["drain"]["confirmed"] is True
    assert not cluster.journal.runs()


async def test_an_unknown_name_is_one_sentence_with_the_known_ones_and_an_address_is_enough_if_one_has_it(
    cluster: Cluster,
) -> None:
    await cluster.master(SHOAL_NAME="m1")
    await cluster.worker(SHOAL_NAME="w1")
    await cluster.worker(SHOAL_NAME="w2")
    code, said = await _says(cluster, "worker", "drain", "w7")
    assert (code, said.strip()) == (5, 'shoal: there is no worker "w7"; known: w1, w2')
    code, said = await _says(cluster, "master", "undrain", "w1")
    assert (code, said.strip()) == (5, 'shoal: there is no master "w1"; known: m1')
    address = cluster.one("SELECT address FROM node WHERE name = 'w2'")
    assert (await _shoal(cluster, "worker", "drain", address))["name"] == "w2"
    cluster.rows("UPDATE node SET address = %s WHERE name = 'w1'", address)
    code, said = await _says(cluster, "worker", "drain", address)
    assert (code, said.strip()) == (2, f"shoal: 2 workers have the address {address}; say which by its name: w1, w2")


async def test_a_node_of_a_version_that_knows_no_drains_is_not_drained(cluster: Cluster) -> None:
    await cluster.master(SHOAL_NAME="m1")
    worker = await cluster.worker(SHOAL_NAME="w1")
    with worker.stopped():
        cluster.rows(
            "UPDATE node_beat SET heartbeat = (heartbeat::jsonb - 'drained')::text WHERE node_id = %s", worker.epoch
        )
        code, said = await _says(cluster, "worker", "drain", "w1")
    assert code == 2
    assert "worker w1 is of a version of Shoal that cannot be drained; stop it with SIGTERM" in said
    assert cluster.rows("SELECT * FROM drain") == []


async def test_a_wait_for_a_node_that_cannot_confirm_or_become_empty_ends_and_says_why(
    cluster: Cluster, tmp_path: Path
) -> None:
    _waits_for(cluster, tmp_path / "gate")
    await cluster.master(SHOAL_NAME="m1")
    worker = await cluster.worker(SHOAL_NAME="w1")
    cluster.start(1)
    await eventually(lambda: cluster.journal.runs(), within_s=20)
    code, said = await _says(cluster, "worker", "drain", "w1", "--wait", "--timeout", "1s")
    assert code == 1
    assert "w1 is not empty: 1 task still runs there, and its last beat was" in said.replace("\n", " ")
    await _shoal(cluster, "worker", "undrain", "w1")
    cluster.nodes[0].kill()  # nobody is left who could fence it
    worker.kill()
    code, said = await _says(cluster, "worker", "drain", "w1", "--wait", "--timeout", "12s")
    assert code == 1
    assert "w1 is not empty: it has not confirmed the drain, and its last beat was" in said.replace("\n", " ")
    refused = await _says(cluster, "worker", "drain", "w1", "--timeout", "12s")
    assert refused[0] == 2


async def test_a_row_by_hand_is_read_with_the_next_beat(cluster: Cluster) -> None:
    worker = await cluster.worker(SHOAL_NAME="w1")
    cluster.rows("INSERT INTO drain (kind, name) VALUES ('WORKER', 'w1')")
    heartbeat = "SELECT heartbeat::json->>'drained' FROM node_beat WHERE node_id = %s"
    await eventually(
        lambda: cluster.one(heartbeat, worker.epoch) == cluster.one("SELECT id::text FROM drain"), within_s=10
    )
    cluster.rows("DELETE FROM drain")
    await eventually(lambda: cluster.one(heartbeat, worker.epoch) == "0", within_s=10)


async def test_a_drain_is_asked_for_and_ended_across_restarts_of_the_database(
    cluster: Cluster, postgres_server: PostgresServer
) -> None:
    cluster.define(1, "shell", tasks=[{"name": "a", "type": "SHELL", "params": {"script": cluster.journal.script()}}])
    await cluster.master()
    worker = await cluster.worker(SHOAL_NAME="w1")
    await _shoal(cluster, "worker", "drain", "w1")
    postgres_server.restart("immediate")
    await eventually(lambda: cluster.one("SELECT 1") == 1, within_s=30)
    cluster.start(1)
    queued = "SELECT count(*) FROM task_instance WHERE state = 'QUEUED'"
    await eventually(lambda: cluster.one(queued) == 1, within_s=30)
    assert (await _shoal(cluster, "worker", "drain", "w1"))["drain"]["confirmed"] is True
    postgres_server.restart("fast")
    await eventually(lambda: cluster.one("SELECT 1") == 1, within_s=30)
    assert not cluster.journal.runs()
    await _shoal(cluster, "worker", "undrain", "w1")
    await cluster.all_ends()
    cluster.check_exactly_once(1)
    assert len(worker.events("undrained")) == 1
