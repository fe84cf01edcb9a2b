"""Pools that become smaller while their resources are held: how many run at once."""

from __future__ import annotations

import pytest_asyncio

from dao.postgres.database import Database
from dao.tasks.task_claims import ClaimedTask
from tests.dao.pool_scene import PoolScene


@pytest_asyncio.fixture
async def pools(database: Database) -> PoolScene:
    """A database, and sentences for what a test wants to be there."""
    return PoolScene(database)


def codes(tasks: list[ClaimedTask]) -> list[int]:
    return sorted(task.code for task in tasks)


async def test_a_number_that_was_made_smaller_is_not_exceeded_while_the_places_taken_from_it_are_held(
    pools: PoolScene,
) -> None:
    """Whoever holds one of them keeps it, and counts."""
    master, worker = await pools.master(), await pools.worker()
    await pools.pool("a", 3)
    await pools.sql("UPDATE resource_pool SET counted = 3")
    await pools.wait_for(master, *[{"a": 1}] * 6)
    first, second, third = await pools.claim_for_pools(worker)
    await pools.end(worker, first, second)
    await pools.sql("UPDATE resource_pool SET counted = 2")
    await pools.sql("UPDATE pool_resource SET removed = true WHERE name = 'a-3'")
    fourth = await pools.claim_for_pools(worker)
    assert codes(fourth) == [4], "two run, and the number is two"
    await pools.end(worker, third)
    assert codes(await pools.claim_for_pools(worker)) == [5]
    assert await pools.claim_for_pools(worker) == []


async def test_a_place_that_was_set_aside_before_it_was_taken_from_the_number_counts_while_it_is_held(
    pools: PoolScene,
) -> None:
    master, worker = await pools.master(), await pools.worker()
    await pools.pool("a", 3)
    await pools.wait_for(master, *[{"a": 1}] * 5)
    first, second, third = await pools.claim_for_pools(worker)
    await pools.sql(
        "UPDATE pool_resource SET set_aside_at = now(), set_aside_why = 'x', removed = true "
        "WHERE task_instance_id = :id",
        id=third.id,
    )
    await pools.sql("UPDATE resource_pool SET counted = 2")
    await pools.end(worker, first)
    assert await pools.claim_for_pools(worker) == [], "two run, and the number is two"
    await pools.end(worker, second)
    assert codes(await pools.claim_for_pools(worker)) == [4]
    await pools.end(worker, third)
    assert codes(await pools.claim_for_pools(worker)) == [5]


async def test_resources_that_are_named_are_given_though_a_removed_one_is_held(pools: PoolScene) -> None:
    master, worker = await pools.master(), await pools.worker()
    await pools.pool("a", 2)
    await pools.wait_for(master, {"a": 2}, {"a": 1})
    await pools.claim_for_pools(worker)
    await pools.sql("UPDATE pool_resource SET removed = true WHERE name = 'a-1'")
    await pools.sql(
        "INSERT INTO pool_resource (pool_code, name) SELECT pool_code, 'a-3' FROM pool_resource WHERE name = 'a-1'"
    )
    assert codes(await pools.claim_for_pools(worker)) == [2]
