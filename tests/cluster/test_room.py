"""A run that only waits takes up no room, so that masters full of such runs go on: with limits of 1, 2 and 4."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.cluster.cluster import Cluster
from tests.eventually import eventually

WITHIN_S = 60.0
LIMITS = [1, 2, 4]
TOP = 100
"""The code of the workflow that is started."""


def limited(limit: int) -> dict[str, str]:
    return {"SHOAL_MASTER__MAX_RUNNING_WORKFLOWS": str(limit), "SHOAL_MASTER__LOOK_EVERY": "0.5"}


async def small(cluster: Cluster, limit: int, masters: int = 1) -> None:
    """Masters that may drive `limit` runs each, and a worker."""
    for _ in range(masters):
        await cluster.master(**limited(limit))
    await cluster.worker()


def standing_for(code: int, **fields: Any) -> dict[str, Any]:
    return {"name": "below", "type": "SUB_PROCESS", "params": {"workflow": code}, **fields}


def define_chain(cluster: Cluster, depth: int) -> None:
    """A chain of nested workflows; the lowest has a task of its own."""
    cluster.define(TOP + depth, "lowest", tasks=[{"name": "a", "type": "FAKE"}])
    for code in range(TOP, TOP + depth):
        cluster.define(code, f"w{code}", tasks=[standing_for(code + 1)])


def states(cluster: Cluster) -> dict[str, int]:
    return dict(cluster.rows("SELECT state, count(*) FROM workflow_instance GROUP BY 1"))


async def test_six_parents_end_on_a_master_that_may_drive_four_runs(cluster: Cluster) -> None:
    define_chain(cluster, 1)
    await small(cluster, 4)
    cluster.start(TOP, 6)
    await cluster.all_ends(WITHIN_S)
    assert states(cluster) == {"SUCCESS": 12}


@pytest.mark.parametrize("limit", LIMITS)
async def test_runs_ten_deep_under_each_other_end_whatever_the_limit(cluster: Cluster, limit: int) -> None:
    define_chain(cluster, 10)
    await small(cluster, limit)
    cluster.start(TOP, 5)
    await cluster.all_ends(WITHIN_S)
    assert states(cluster) == {"SUCCESS": 55}


@pytest.mark.parametrize("limit", LIMITS)
async def test_a_hundred_children_of_one_task_end_whatever_the_limit(cluster: Cluster, limit: int) -> None:
    cluster.define(1, "child", tasks=[{"name": "a", "type": "FAKE"}])
    numbers = ",".join(map(str, range(100)))
    params = {"workflow": 1, "lists": [{"name": "n", "value": numbers}], "parallelism": 100}
    cluster.define(TOP, "fan", tasks=[{"name": "d", "type": "DYNAMIC", "params": params}])
    await small(cluster, limit)
    cluster.start(TOP)
    await cluster.all_ends(WITHIN_S)
    assert states(cluster) == {"SUCCESS": 101}


@pytest.mark.parametrize("limit", LIMITS)
async def test_what_a_dependent_waits_for_finds_room_beside_it(cluster: Cluster, limit: int) -> None:
    cluster.define(1, "awaited", tasks=[{"name": "a", "type": "FAKE"}])
    awaits = {"groups": [{"items": [{"workflow": "awaited", "cycle": "today"}]}]}
    cluster.define(TOP, "waits", tasks=[{"name": "d", "type": "DEPENDENT", "params": awaits}])
    await small(cluster, limit)
    of_one_day = """INSERT INTO command (type, workflow_code, schedule_time)
                    SELECT 'START_PROCESS', %s, '2026-03-04 10:30+00' FROM generate_series(1, %s)"""
    cluster.rows(of_one_day, TOP, 8)
    await eventually(lambda: states(cluster) == {"RUNNING_EXECUTION": 8}, within_s=WITHIN_S)
    cluster.rows(of_one_day, 1, 1)
    await cluster.all_ends(WITHIN_S)
    assert states(cluster) == {"SUCCESS": 9}


async def test_what_waits_for_a_time_takes_up_no_room_until_it_has_come(cluster: Cluster) -> None:
    cluster.define(1, "now", tasks=[{"name": "a", "type": "FAKE"}])
    cluster.define(2, "later", tasks=[{"name": "a", "type": "FAKE", "delay_time": 60}])
    broken = {"name": "a", "type": "SHELL", "params": {"script": "exit 1"}, "retry_times": 1, "retry_interval": 60}
    cluster.define(3, "again", tasks=[broken])
    await small(cluster, 1)
    cluster.start(2, 3)
    cluster.start(3, 2)
    cluster.start(1, 2)
    await eventually(lambda: states(cluster) == {"RUNNING_EXECUTION": 5, "SUCCESS": 2}, within_s=WITHIN_S)
    cluster.rows("UPDATE task_instance SET due_at = clock_timestamp() WHERE state = 'DELAY_EXECUTION'")
    await cluster.all_ends(WITHIN_S)
    assert states(cluster) == {"SUCCESS": 5, "FAILURE": 2}


async def test_full_masters_claim_failover_what_others_left_and_their_nested_runs_end(cluster: Cluster) -> None:
    define_chain(cluster, 3)
    await small(cluster, 1, masters=3)
    cluster.define(1, "long", tasks=[{"name": "a", "type": "FAKE", "params": {"sleep_s": 3}}])
    cluster.start(1, 3)
    cluster.start(TOP, 6)
    await eventually(lambda: sum(states(cluster).values()) >= 3, within_s=WITHIN_S)
    for dead in cluster.nodes[:2]:
        dead.kill()
    await cluster.all_ends(WITHIN_S)
    assert states(cluster) == {"SUCCESS": 27}


async def test_a_command_without_room_and_the_run_that_waits_for_it_say_so(cluster: Cluster) -> None:
    cluster.define(1, "long", tasks=[{"name": "a", "type": "FAKE", "params": {"sleep_s": 300}}])
    define_chain(cluster, 1)
    await small(cluster, 1)
    cluster.start(TOP)
    await cluster.all_ends(WITHIN_S)
    held = "UPDATE command SET created_at = created_at - interval '1 min' WHERE parent IS NOT NULL RETURNING id"
    # The order of two commands of one moment is theirs; the child of the first is asked for after the second.
    cluster.rows("INSERT INTO command (type, workflow_code) VALUES ('START_PROCESS', %s), ('START_PROCESS', 1)", TOP)
    ((command,),) = await eventually(lambda: cluster.rows(held), within_s=WITHIN_S)
    parent = cluster.one("SELECT max(id) FROM workflow_instance WHERE workflow_code = %s", TOP)
    address = cluster.one("SELECT address FROM node WHERE kind = 'MASTER'")
    full = f"the only master, {address}, is full, with 1 of 1 run"
    await eventually(lambda: full in cluster.shoal("why", "command", str(command)), within_s=WITHIN_S)
    told = cluster.shoal("why", str(parent))
    assert f"below stands for 1 run, and no master has begun it yet. Command {command} has waited for " in told
    assert full in told
    (room,) = [each for each in json.loads(cluster.shoal("doctor", "--json"))["checks"] if each["name"] == "room"]
    assert (room["verdict"], room["count"]) == ("NOTE", 1)
    assert room["finds"][0].endswith(f"{full}; run {parent} waits for the run that it asks for")
