"""`dao/cluster/cluster.py`: what is the same for all nodes, whoever comes first."""

from __future__ import annotations

import asyncio

import pytest

from dao.cluster import cluster
from model.cluster.timing import Timing
from model.errors import Refused
from tests.dao.scene import Scene

SHORT = Timing.model_validate({"kill_grace": 1, "worker_fence_after": 10})
LONG = Timing.model_validate({"worker_fence_after": 40})


async def agree(scene: Scene, given: Timing) -> Timing:
    async with scene.writing() as connection:
        return await cluster.agree_on_timing(connection, given)


async def test_the_times_of_the_first_node_become_the_cluster_s(scene: Scene) -> None:
    assert await agree(scene, SHORT) == SHORT
    assert await agree(scene, Timing()) == SHORT
    same = Timing.model_validate({"kill_grace": 1, "worker_fence_after": 10, "heartbeat_every": 2})
    assert await agree(scene, same) == SHORT


async def test_of_two_first_nodes_at_once_one_sets_the_times_and_the_other_is_held_against_them(scene: Scene) -> None:
    for _ in range(5):
        await scene.sql("DELETE FROM cluster")
        found = await asyncio.gather(agree(scene, SHORT), agree(scene, LONG), return_exceptions=True)
        assert sorted(type(each).__name__ for each in found) == ["Refused", "Timing"]


async def test_who_names_other_times_is_refused_with_both_and_the_way_to_change_them(scene: Scene) -> None:
    await agree(scene, SHORT)
    with pytest.raises(Refused, match=r"worker_fence_after = 40 s \(the cluster: 10 s\).*--set worker_fence_after=40"):
        await agree(scene, LONG)


async def test_times_that_do_not_fit_together_are_refused_and_change_nothing(scene: Scene) -> None:
    await agree(scene, SHORT)
    for odd in ({"worker_fence_after": 1}, {"heartbeat_every": "x"}, {"heartbeat_every": None}):
        with pytest.raises(Refused, match="cannot live by these times"):
            async with scene.writing() as connection:
                await cluster.set_timing(connection, odd)
    async with scene.database.reading() as connection:
        assert await cluster.timing(connection) == SHORT


async def test_odd_times_that_a_person_wrote_are_refused_with_a_sentence(scene: Scene) -> None:
    await scene.sql("""UPDATE cluster SET timing = '{"kill_grace": "soon"}'""")
    with pytest.raises(Refused, match="cannot live by these times: kill_grace"):
        await agree(scene, Timing())
