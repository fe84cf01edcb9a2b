"""Who waits for resources is woken at once by whatever leaves them some, however many wait before."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
import pytest_asyncio

from dao.pools import resource_changes, saved_pools
from dao.postgres.database import Database
from dao.postgres.listen import Listener
from dao.postgres.notify import POOL
from tests.dao.pool_scene import PoolScene
from tests.dao.test_pool_claims import codes
from tests.eventually import eventually


@pytest_asyncio.fixture
async def pools(database: Database) -> PoolScene:
    """A database, and sentences for what a test wants to be there."""
    return PoolScene(database)


@asynccontextmanager
async def woken(database_url: str) -> AsyncIterator[set[str]]:
    """The groups whose workers are woken for pools meanwhile."""
    groups: set[str] = set()
    listener = Listener(database_url, "shoal-test", {POOL: groups.add})
    listening = asyncio.create_task(listener.run())
    try:
        await eventually(lambda: "" in groups)  # what a listener says when it hears
        groups.clear()
        yield groups
    finally:
        listening.cancel()
        await asyncio.gather(listening, return_exceptions=True)


async def test_all_groups_that_wait_are_woken_however_many_of_another_wait_before_them(
    pools: PoolScene, database_url: str
) -> None:
    master, worker = await pools.master(), await pools.worker()
    await pools.pool("a", 1)
    await pools.wait_for(master, {"a": 1})
    [task] = await pools.claim_for_pools(worker)
    await pools.wait_for(master, *[{"a": 1}] * 55, worker_group="nobody")
    await pools.wait_for(master, {"a": 1}, worker_group="gpu")
    async with woken(database_url) as groups:
        await pools.end(worker, task)
        await eventually(lambda: groups, until={"gpu", "nobody"})


@pytest.mark.parametrize("state", ["KILL", "PAUSE", "FAILURE"])
async def test_who_is_stopped_or_paused_leaves_what_it_reserved_to_the_next_at_once(
    pools: PoolScene, database_url: str, state: str
) -> None:
    master, worker = await pools.master(), await pools.worker()
    await pools.pool("a", 3)
    await pools.wait_for(master, {"a": 1}, {"a": 3}, {"a": 1})
    assert codes(await pools.claim_for_pools(worker)) == [1]
    async with woken(database_url) as groups:
        await pools.sql("UPDATE task_instance SET state = :state, ended_at = now() WHERE task_code = 2", state=state)
        await eventually(lambda: groups, until={"default"})
    assert codes(await pools.claim_for_pools(worker)) == [3]


async def test_who_needs_more_than_is_left_of_a_pool_leaves_it_to_the_next_at_once(
    pools: PoolScene, database_url: str
) -> None:
    master, worker = await pools.master(), await pools.worker()
    await pools.pool("a", 3)
    await pools.wait_for(master, {"a": 1}, {"a": 3}, {"a": 1})
    assert codes(await pools.claim_for_pools(worker)) == [1]
    async with woken(database_url) as groups:
        async with pools.writing() as connection:
            held = await saved_pools.hold(connection, ["a"])
            assert await resource_changes.set_aside(connection, held["a"], "a-3", "blocked", "anna")
        await eventually(lambda: groups, until={"default"})
    assert codes(await pools.claim_for_pools(worker)) == [3]


async def test_who_is_stopped_while_nothing_is_free_wakes_nobody(pools: PoolScene, database_url: str) -> None:
    master, worker = await pools.master(), await pools.worker()
    await pools.pool("a", 1)
    await pools.wait_for(master, {"a": 1}, {"a": 1}, {"a": 1})
    assert codes(await pools.claim_for_pools(worker)) == [1]
    async with woken(database_url) as groups:
        await pools.sql("UPDATE task_instance SET state = 'KILL', ended_at = now() WHERE task_code = 2")
        await pools.sql("SELECT pg_notify('shoal_pool', 'last')")
        await eventually(lambda: groups, until={"last"})
