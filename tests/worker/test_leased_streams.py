"""Which of the streams that need resources a worker takes, by what it reads of the others."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import cast

import pytest_asyncio

from dao.cluster.node_rows import NodeRow
from dao.cluster.nodes import Me
from dao.pools import pool_claims
from dao.postgres.database import Database, FencedTransaction
from dao.streams import stream_claims
from model.cluster.nodes import Heartbeat, NodeKind, NodeState, ProcessIdentity
from model.ids import Epoch
from model.pools.turns import Turns, turns
from tests.dao.pool_scene import PoolScene
from worker.claims.leased_streams import LeasedStreams

GROUPS = ("default",)


@pytest_asyncio.fixture
async def pools(database_url: str) -> AsyncIterator[PoolScene]:
    database = Database(database_url, application_name="shoal-test")
    yield PoolScene(database)
    await database.close()


def _row(epoch: Epoch, running: int = 0) -> NodeRow:
    beat = Heartbeat(epoch=epoch, kind=NodeKind.WORKER, address="a", running=running, capacity=32, groups=GROUPS)
    process = ProcessIdentity("boot", 1, 1)
    return NodeRow(epoch, NodeKind.WORKER, "a", NodeState.ALIVE, process, None, 1, 0.1, beat, f"w{epoch}")


class Claims:
    """A worker that claims as `worker/claims/pools.py` does, beside another."""

    def __init__(self, pools: PoolScene, me: Me, other: Me) -> None:
        self.me = me
        self._pools = pools
        self._other = _row(other.epoch)
        self.streams = LeasedStreams(GROUPS)

    async def round(self, now_s: float = 0.0, places: int = 9) -> Turns:
        """Take what is this worker's."""
        async with self._pools.writing() as given:
            connection = cast(FencedTransaction, given)
            held = await pool_claims.hold_pools(connection, GROUPS, self.me.epoch)
            rooms = await pool_claims.rooms(connection, held)
            waiters = await pool_claims.waiters(connection, rooms, GROUPS, GROUPS, places)
            others = [self._other]
            spread = await self.streams.spread(connection, waiters, others, self.me.epoch, places, now_s)
            found = turns(waiters, rooms, GROUPS, places, GROUPS, spread)
            await pool_claims.claim(connection, found.given, self.me.epoch)
        self.streams.note(found, now_s)
        return found


async def _two(pools: PoolScene) -> tuple[Claims, Claims]:
    one, other = await pools.worker(), await pools.worker()
    return Claims(pools, one, other), Claims(pools, other, one)


async def test_each_takes_its_share_and_what_is_free_again_goes_to_the_one_with_fewer(pools: PoolScene) -> None:
    master = await pools.master()
    one, other = await _two(pools)
    await pools.pool("a", 4)
    await pools.wait_for(master, *[{"a": 1}] * 6, stream="{}")
    assert [len((await each.round()).given) for each in (one, other)] == [2, 2]
    assert (len((await one.round()).given), len((await other.round()).given)) == (0, 0)
    ended = "UPDATE task_instance SET state = 'FAILURE', ended_at = now() WHERE state LIKE 'RUN%' AND worker_id = :w"
    await pools.sql(ended, w=other.me.epoch)
    await pools.sql("SELECT free_resources(array_agg(id), :w) FROM task_instance", w=other.me.epoch)
    assert [len((await each.round()).given) for each in (one, other)] == [0, 2]


async def test_streams_that_need_only_a_place_are_dealt_out_before(pools: PoolScene) -> None:
    """Three wait: one of them is the first worker's and two are the other's, so that the first has one of the others
    as well."""
    master = await pools.master()
    one, other = await _two(pools)
    await pools.pool("a", 2)
    run = await pools.instance(master)
    await pools.queue(run, 1, 2, 3, master=master, stream="{}")
    await pools.wait_for(master, {"a": 1}, stream="{}")
    assert [len((await each.round()).given) for each in (one, other)] == [0, 1]
    async with pools.writing() as connection:
        await stream_claims.claim(cast(FencedTransaction, connection), {"default": 3}, other.me.epoch)
    await pools.wait_for(master, {"a": 1}, stream="{}")
    assert len((await other.round()).given) == 0
    assert len((await one.round()).given) == 1


async def test_what_another_does_not_take_for_long_is_taken_a_part_at_a_time(pools: PoolScene) -> None:
    master = await pools.master()
    one, _ = await _two(pools)
    await pools.pool("a", 8)
    await pools.wait_for(master, *[{"a": 1}] * 8, stream="{}")
    assert len((await one.round(0.0)).given) == 4
    assert [len((await one.round(now_s)).given) for now_s in (5.0, 10.0)] == [0, 0]
    assert [len((await one.round(now_s)).given) for now_s in (10.5, 11.0, 11.5)] == [2, 1, 1]


async def test_what_could_not_begin_meanwhile_was_left_to_nobody(pools: PoolScene) -> None:
    """Others have had the resources for a while: then the time begins again."""
    master = await pools.master()
    one, _ = await _two(pools)
    await pools.pool("a", 2)
    await pools.wait_for(master, *[{"a": 1}] * 2, stream="{}")
    assert len((await one.round(0.0)).left) == 1
    await pools.sql("UPDATE pool_resource SET set_aside_at = now(), set_aside_why = 'x' WHERE task_instance_id IS NULL")
    assert (await one.round(5.0)).left == ()
    await pools.sql("UPDATE pool_resource SET set_aside_at = NULL, set_aside_why = NULL")
    assert len((await one.round(11.0)).left) == 1
    assert len((await one.round(20.0)).left) == 1
    assert len((await one.round(22.0)).given) == 1


async def test_of_pools_that_another_holds_it_forgets_nothing(pools: PoolScene) -> None:
    master = await pools.master()
    one, _ = await _two(pools)
    await pools.pool("a", 2)
    await pools.wait_for(master, *[{"a": 1}] * 2, stream="{}")
    assert len((await one.round(0.0)).left) == 1
    one.streams.note(Turns((), lacks_places=False, lacks_pools=True), 5.0)
    assert len((await one.round(11.0)).given) == 1


async def test_other_tasks_are_not_dealt_out(pools: PoolScene) -> None:
    master = await pools.master()
    one, _ = await _two(pools)
    await pools.pool("a", 3)
    await pools.wait_for(master, *[{"a": 1}] * 3)
    assert len((await one.round()).given) == 3
