"""Duties with real masters: each runs once a period, and soon after a master was killed or slept."""

from __future__ import annotations

import random
import signal
from collections.abc import Callable
from typing import Any

import pytest

from model.cluster.duties import DutyName
from tests.cluster.cluster import Cluster, Node
from tests.eventually import eventually

EVERY_S = 5.0
"""Also the limit: a duty that begins later than five seconds after its time leaves a period out."""


def _faster(cluster: Cluster) -> None:
    cluster.rows("DELETE FROM duty_done")
    later = "clock_timestamp() + interval '11 s'"  # all masters have read the rows by then
    cluster.rows(f"UPDATE duty SET every_s = %s, due_at = {later}, steps = 0", EVERY_S)


OF_EACH_PERIOD = f"name <> '{DutyName.ALERT_RULES}'"
"""The rules of alerts skip a period in which there is nothing to do."""


def _periods(cluster: Cluster) -> int:
    """In how many periods all duties were done."""
    counts = f"SELECT count(*) AS n FROM duty_done WHERE {OF_EACH_PERIOD} GROUP BY name"
    return int(cluster.one(f"SELECT coalesce(min(n), 0) FROM ({counts}) AS c"))


def _left_out(cluster: Cluster) -> list[Any]:
    """Periods that are missing between others. That none is there twice is ensured by the primary key."""
    return cluster.rows(
        "SELECT name, due_at, node_name, next_due FROM (SELECT name, due_at, node_name, "
        "lead(due_at) OVER (PARTITION BY name ORDER BY due_at) AS next_due "
        f"FROM duty_done WHERE {OF_EACH_PERIOD}) AS d "
        "WHERE abs(extract(epoch FROM next_due - due_at) - %s) > 0.001",
        EVERY_S,
    )


async def _all_are_done_once(cluster: Cluster) -> None:
    """A duty that is at work would go on with what a test writes into its row."""
    done = f"SELECT count(DISTINCT name) FROM duty_done WHERE {OF_EACH_PERIOD}"
    await eventually(lambda: cluster.one(done) == len(DutyName) - 1)


async def test_one_master_does_all_duties(cluster: Cluster) -> None:
    await cluster.master(SHOAL_NAME="m1")
    await _all_are_done_once(cluster)
    _faster(cluster)
    await eventually(lambda: _periods(cluster) >= 3, within_s=40)
    assert not _left_out(cluster)
    assert not cluster.rows("SELECT * FROM duty_done WHERE late OR NOT is_fine")


async def test_masters_share_the_duties_by_their_slots(cluster: Cluster) -> None:
    for name in ("m1", "m2", "m3"):
        await cluster.master(SHOAL_NAME=name)
    await cluster.slots_become(3)
    await _all_are_done_once(cluster)
    _faster(cluster)
    await eventually(lambda: _periods(cluster) >= 3, within_s=40)
    assert len(cluster.rows("SELECT DISTINCT node_name FROM duty_done")) > 1
    assert not _left_out(cluster)


async def test_the_only_master_is_killed_again_and_again_and_each_next_one_goes_on(cluster: Cluster) -> None:
    """No other master can do the duties; but no period is done twice, and none is skipped because of the change."""
    master = await cluster.master(SHOAL_NAME="m1")
    await _all_are_done_once(cluster)
    _faster(cluster)
    for _ in range(4):
        periods = _periods(cluster)
        await eventually(lambda before=periods: _periods(cluster) > before, within_s=30)  # type: ignore[misc]
        master.kill()
        master = await cluster.master(SHOAL_NAME="m1")
    periods = _periods(cluster)
    await eventually(lambda: _periods(cluster) >= periods + 2, within_s=30)
    assert not _left_out(cluster)
    assert cluster.one("SELECT count(DISTINCT node_id) FROM duty_done") >= 4


def _kill(node: Node) -> None:
    node.kill()


def _stop(node: Node) -> None:
    node.signal(signal.SIGSTOP)


@pytest.mark.parametrize(("masters", "end"), [(3, _kill), (3, _stop), (5, _kill)])
@pytest.mark.timeout(180)
async def test_duties_go_on_within_five_seconds_when_their_masters_die_or_hang(
    cluster: Cluster, masters: int, end: Callable[[Node], None]
) -> None:
    running = [await cluster.master(SHOAL_NAME=f"m{n}") for n in range(masters)]
    await cluster.slots_become(masters)
    await _all_are_done_once(cluster)
    _faster(cluster)
    await eventually(lambda: _periods(cluster) >= 1, within_s=30)
    chance = random.Random(masters)
    while len(running) > 1:
        periods = _periods(cluster)
        await eventually(lambda before=periods: _periods(cluster) >= before + 1, within_s=30)  # type: ignore[misc]
        end(running.pop(chance.randrange(len(running))))
    periods = _periods(cluster)
    await eventually(lambda: _periods(cluster) >= periods + 2, within_s=40)
    assert not _left_out(cluster)
    ours = {node.epoch for node in running}
    last = set(cluster.rows("SELECT DISTINCT ON (name) node_id FROM duty_done ORDER BY name, due_at DESC"))
    assert {row[0] for row in last} == ours


async def test_a_master_deletes_what_is_past_its_time_and_goes_on_with_the_rest(cluster: Cluster) -> None:
    cluster.define(1001, "a", tasks=[{"name": "a", "type": "FAKE"}])
    await cluster.master()
    await cluster.worker()
    cluster.start(1001, 20)
    await eventually(lambda: cluster.one("SELECT count(*) FROM workflow_instance WHERE state = 'SUCCESS'") == 20)
    await _all_are_done_once(cluster)
    cluster.rows(
        "UPDATE workflow_instance SET started_at = now() - interval '101 d', ended_at = now() - interval '100 d' "
        "WHERE id <= 10"
    )
    cluster.rows("UPDATE command_history SET handled_at = now() - interval '101 d' WHERE workflow_instance_id <= 10")
    cluster.rows("UPDATE duty SET due_at = clock_timestamp() WHERE name = 'retention'")
    await eventually(lambda: cluster.one("SELECT count(*) FROM workflow_instance") == 10, within_s=30)
    assert cluster.one("SELECT count(*) FROM task_instance WHERE workflow_instance_id <= 10") == 0
    done = "SELECT result FROM duty_done WHERE name = 'retention' ORDER BY due_at DESC LIMIT 1"
    await eventually(lambda: cluster.one(done).startswith("deleted 10 runs with 10 attempts"))
    cluster.start(1001, 5)
    await cluster.all_ends()
    cluster.rows(
        "INSERT INTO command (id, type, workflow_code) OVERRIDING SYSTEM VALUE VALUES (1, 'START_PROCESS', 1001)"
    )
    await eventually(lambda: cluster.rows("SELECT reason FROM error_command WHERE command_id = 1"))
    (reason,) = cluster.rows("SELECT reason FROM error_command WHERE command_id = 1")[0]
    assert reason.startswith(
        "a command with this id was handled before (DELETED at a time that is no longer on record)"
    )
    assert cluster.one("SELECT count(*) FROM workflow_instance") == 15
