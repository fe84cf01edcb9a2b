"""What ended nodes left is failed over, whatever somebody has locked or written."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest_asyncio
from structlog.testing import capture_logs

from dao.postgres.sql import Sql
from master.claim.row_sets import LOCKED_MANY
from master.membership.failover import Leftovers
from node.life import Life
from tests.dao.pool_scene import PoolScene
from tests.eventually import eventually
from tests.master.lives import begin_life


@pytest_asyncio.fixture
async def life(database_url: str) -> AsyncIterator[Life]:
    began = await begin_life(database_url)
    yield began
    await began.close()


async def test_a_lease_that_somebody_has_locked_holds_up_no_other_task(life: Life) -> None:
    scene = PoolScene(life.database)
    worker = await scene.worker()
    await scene.pool("a", 1)
    await scene.wait_for(life.me, {"a": 1}, {})
    await scene.claim_for_pools(worker)
    await scene.claim(worker)
    await scene.fence(worker)
    leftovers = Leftovers(life)
    lost = "NEED_FAULT_TOLERANCE"
    async with life.database.writing() as stranger:
        await stranger.execute(Sql("SELECT FROM pool_resource FOR UPDATE"))
        with capture_logs() as said:
            await leftovers.fail_over()
        assert await scene.states() == {1: "RUNNING_EXECUTION", 2: lost}
    assert [event["event"] for event in said if event["event"].endswith("_quarantined")] == ["failover_quarantined"]

    async def all_are() -> object:
        await leftovers.fail_over()
        return await scene.states()

    await eventually(all_are, until={1: lost, 2: lost})


async def test_nor_do_many_hold_up_those_behind_them(life: Life) -> None:
    scene, count = PoolScene(life.database), LOCKED_MANY + 5
    worker = await scene.worker()
    await scene.pool("a", count)
    await scene.wait_for(life.me, *[{"a": 1}] * count, {}, {})
    await scene.claim_for_pools(worker, count)
    await scene.claim(worker)
    await scene.claim(worker)
    await scene.fence(worker)
    async with life.database.writing() as stranger:
        await stranger.execute(Sql("SELECT FROM pool_resource FOR UPDATE"))
        await Leftovers(life).fail_over()
        lost = await scene.sql("SELECT is_plain FROM task_instance WHERE state = 'NEED_FAULT_TOLERANCE'")
    assert lost == [True, True]
