"""A command that ends the process of every master that touches it is found, and the others are handled (W19)."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.cluster.cluster import Cluster, Node
from tests.eventually import eventually

EXIT_CODE = 66
GOOD = 60
# What no check can foresee: a crash within a library. These masters die of a parameter with that word.
_CRASH = f"""
import json, os
real = json.JSONDecoder.decode
def decode(self, text, *arguments):
    if "SUSPECT" in text:
        os._exit({EXIT_CODE})
    return real(self, text, *arguments)
json.JSONDecoder.decode = decode
"""


def suspect(cluster: Cluster, code: int, count: int) -> list[int]:
    """Commands that a master may have died of, as the node that fenced it left them."""
    query = (
        "INSERT INTO command (type, workflow_code, deaths) SELECT 'START_PROCESS', %s, 1 FROM generate_series(1, %s)"
    )
    return [id_ for (id_,) in cluster.rows(f"{query} RETURNING id", code, count)]


async def test_what_is_suspect_is_tried_in_turn_with_a_stream_that_does_not_end(cluster: Cluster) -> None:
    """With batches of one, thousands of commands are as many batches with more behind them."""
    cluster.define(1001, "one", tasks=[{"name": "a", "type": "FAKE"}])
    (apart,) = suspect(cluster, 1001, 1)
    cluster.start(1001, 3_000)
    await cluster.master(SHOAL_MASTER__BATCH_MAX="1")
    handled = "SELECT count(*) FROM command_history WHERE command_id = %s"
    await eventually(lambda: cluster.one(handled, apart) == 1, within_s=60)
    assert cluster.one("SELECT count(*) FROM command") > 1_000, "it waited for the end of the stream"


async def test_what_has_waited_too_long_is_taken_in_turn_with_a_slot_s_own_stream(cluster: Cluster) -> None:
    """One slot belongs to a master that sleeps, the other has thousands of commands of its own."""
    cluster.environment |= {"SHOAL_TIMING__MASTER_FENCE_AFTER": "600", "SHOAL_TIMING__SESSION_TIMEOUT": "300"}
    cluster.define(1001, "one", tasks=[{"name": "a", "type": "FAKE"}])
    first, second = await cluster.master(SHOAL_MASTER__BATCH_MAX="1"), await cluster.master()
    await cluster.slots_become(2)
    with second.stopped():
        query = "INSERT INTO command (type, workflow_code) VALUES ('START_PROCESS', 1001) RETURNING id"
        theirs = next(id_ for _ in range(2) if (id_ := cluster.one(query)) % 2 == 1)
        numbers = "SELECT 2 * (1000 + n), 'START_PROCESS', 1001 FROM generate_series(1, 6000) AS n"
        cluster.rows(f"INSERT INTO command (id, type, workflow_code) OVERRIDING SYSTEM VALUE {numbers}")
        handled = "SELECT count(*) FROM command_history WHERE command_id = %s"
        await eventually(lambda: cluster.one(handled, theirs) == 1, within_s=60)
        assert cluster.one("SELECT count(*) FROM command") > 1_000, "it waited for the end of the stream"
    assert first.is_alive


async def test_a_full_master_leaves_what_is_suspect_to_a_neighbour_with_room(cluster: Cluster) -> None:
    script = f"until [ -e {cluster.folder}/go ]; do sleep 0.1; done"
    cluster.define(1001, "long", tasks=[{"name": "a", "type": "SHELL", "params": {"script": script}}])
    await cluster.worker()
    small = await cluster.master(SHOAL_MASTER__MAX_RUNNING_WORKFLOWS="2", SHOAL_MASTER__LOOK_EVERY="0.2")
    suspect(cluster, 1001, 5)
    running = "SELECT count(*) FROM workflow_instance WHERE master_id = %s"
    await eventually(lambda: cluster.one(running, small.epoch) == 2, within_s=15)
    large = await cluster.master(SHOAL_MASTER__LOOK_EVERY="0.2")
    await eventually(lambda: cluster.one(running, large.epoch) == 3, within_s=15)
    (cluster.folder / "go").touch()
    await cluster.all_ends()
    assert cluster.rows("SELECT state, count(*) FROM workflow_instance GROUP BY 1") == [("SUCCESS", 5)]


@pytest.mark.timeout(240)
async def test_a_command_that_kills_its_master_is_given_up_and_its_neighbours_run(
    cluster: Cluster, tmp_path: Path
) -> None:
    (tmp_path / "sitecustomize.py").write_text(_CRASH)
    cluster.define(1001, "one", tasks=[{"name": "a", "type": "FAKE"}])
    cluster.start(1001, GOOD // 2)
    cluster.start(1001, 1, params='{"a": "SUSPECT"}')
    cluster.start(1001, GOOD // 2)
    await cluster.worker()
    deaths = 0
    supervised: list[Node] = []
    while cluster.one("SELECT count(*) FROM command") > 0:
        if supervised and supervised[-1].is_alive:
            await asyncio.sleep(0.05)
            continue
        if supervised:
            assert await supervised[-1].ended() == EXIT_CODE
            deaths += 1
            assert deaths < 10, "it goes on and on"
        supervised.append(Node(cluster, "master", len(cluster.nodes), {"PYTHONPATH": str(tmp_path)}))
        cluster.nodes.append(supervised[-1])
    await cluster.all_ends()
    assert deaths == 4, "with all others, with many, with some, alone"
    reasons = cluster.rows("SELECT params, reason FROM error_command")
    assert reasons == [('{"a": "SUSPECT"}', "it could not be handled: 4 masters died while they were at it")]
    assert cluster.rows("SELECT state, count(*) FROM workflow_instance GROUP BY 1") == [("SUCCESS", GOOD)]
    await eventually(lambda: supervised[-1].is_alive)
