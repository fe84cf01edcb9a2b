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
real = json.loads
def loads(text, *arguments, **more):
    if "DEADLY" in str(text):
        os._exit({EXIT_CODE})
    return real(text, *arguments, **more)
json.loads = loads
"""


@pytest.mark.timeout(240)
async def test_a_command_that_kills_its_master_is_given_up_and_its_neighbours_run(
    cluster: Cluster, tmp_path: Path
) -> None:
    (tmp_path / "sitecustomize.py").write_text(_CRASH)
    cluster.define(1001, "one", tasks=[{"name": "a", "type": "FAKE"}])
    cluster.start(1001, GOOD // 2)
    cluster.start(1001, 1, params='{"a": "DEADLY"}')
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
    assert reasons == [('{"a": "DEADLY"}', "it could not be handled: 4 masters died while they were at it")]
    assert cluster.rows("SELECT state, count(*) FROM workflow_instance GROUP BY 1") == [("SUCCESS", GOOD)]
    await eventually(lambda: supervised[-1].is_alive, within_s=1)
