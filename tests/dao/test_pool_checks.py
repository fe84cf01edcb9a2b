"""`dao/pools/pool_checks.py`: one worker checks a resource, and what fails is set aside until a check passes."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest
import pytest_asyncio

from dao.cluster.nodes import Me
from dao.pools import pool_checks, resource_changes, saved_pools
from dao.pools.pool_checks import Checked
from dao.postgres.database import Database
from dao.postgres.sql import Sql
from dao.tasks import task_claims
from tests.dao.pool_scene import PoolScene


@pytest_asyncio.fixture
async def pools(database: Database) -> PoolScene:
    """A database, and sentences for what a test wants to be there."""
    return PoolScene(database)


async def take(pools: PoolScene, worker: Me, limit: int = 100) -> list[str]:
    async with pools.writing() as connection:
        return sorted(due.name for due in await pool_checks.take(connection, limit, worker.epoch))


async def record(pools: PoolScene, worker: Me, name: str, why: str | None, *, has_result: bool = True) -> None:
    found = "SELECT id, coalesce(checking_since, now()) FROM pool_resource WHERE name = :name"
    [(id_, since)] = await pools.sql(found, name=name)
    async with pools.writing() as connection:
        await pool_checks.record(connection, [Checked(id_, since, why, has_result)], worker.epoch)


async def set_aside(pools: PoolScene) -> dict[str, str]:
    return dict(await pools.sql("SELECT name, set_aside_why FROM pool_resource WHERE set_aside_at IS NOT NULL"))


async def age(pools: PoolScene, seconds: int) -> None:
    await pools.sql("UPDATE pool_resource SET checked_at = checked_at - make_interval(secs => :s)", s=seconds)


async def test_what_was_never_checked_is_checked_by_one_worker_before_it_is_given(pools: PoolScene) -> None:
    master, worker, other = await pools.master(), await pools.worker(), await pools.worker()
    await pools.pool("a", 2, {"url": "http://x/", "every_s": 60})
    await pools.pool("unchecked", 2)
    await pools.wait_for(master, {"a": 1})
    assert await pools.claim_for_pools(worker) == []
    assert (await take(pools, worker, 1), await take(pools, other), await take(pools, worker)) == (["a-1"], ["a-2"], [])
    assert await pools.claim_for_pools(worker) == []
    await record(pools, worker, "a-1", None)
    [task] = await pools.claim_for_pools(worker)
    assert await pools.holders() == {"a-1": task.id}


async def test_what_fails_is_set_aside_until_a_later_check_passes_and_others_go_on(pools: PoolScene) -> None:
    master, worker = await pools.master(), await pools.worker()
    await pools.pool("a", 2, {"url": "http://x/", "every_s": 60})
    await take(pools, worker)
    await record(pools, worker, "a-1", "its check failed: 500")
    await record(pools, worker, "a-2", None)
    assert await set_aside(pools) == {"a-1": "its check failed: 500"}
    await pools.wait_for(master, {"a": 1}, {"a": 1})
    assert [task.code for task in await pools.claim_for_pools(worker)] == [1]
    assert await take(pools, worker) == []
    await age(pools, 61)
    assert await take(pools, worker) == ["a-1"], "what is held is not checked"
    await record(pools, worker, "a-1", None)
    assert await set_aside(pools) == {}
    assert [task.code for task in await pools.claim_for_pools(worker)] == [2]


@pytest.mark.parametrize("found", ["before", "meanwhile", "repaired"])
async def test_who_takes_back_what_he_set_aside_leaves_what_its_check_found(pools: PoolScene, found: str) -> None:
    """That holds until a check passes, or until it is taken back once more."""
    worker = await pools.worker()
    await pools.pool("a", 1, {"url": "http://x/", "every_s": 60})
    await take(pools, worker)
    if found != "meanwhile":
        await record(pools, worker, "a-1", "its check failed: 500")
    if found == "repaired":
        await age(pools, 61)
        assert await take(pools, worker) == ["a-1"]
    async with pools.database.writing() as connection:
        pool = await saved_pools.head(connection, "a")
        assert await resource_changes.set_aside(connection, pool, "a-1", "moving house", "anna")
    if found == "meanwhile":
        await record(pools, worker, "a-1", "its check failed: 500")
    if found == "repaired":
        await record(pools, worker, "a-1", None)
    assert await set_aside(pools) == {"a-1": "moving house"}
    async with pools.database.writing() as connection:
        await resource_changes.take_back(connection, pool, "a-1")
    if found == "repaired":
        assert await set_aside(pools) == {}
        return
    assert await set_aside(pools) == {"a-1": "its check failed: 500"}
    async with pools.database.writing() as connection:
        await resource_changes.take_back(connection, pool, "a-1")
    assert await set_aside(pools) == {}


async def test_a_resource_is_checked_again_every_so_often(pools: PoolScene) -> None:
    master, worker = await pools.master(), await pools.worker()
    await pools.pool("a", 1, {"script": "true", "every_s": 60})
    await take(pools, worker)
    await record(pools, worker, "a-1", None)
    await age(pools, 59)
    assert await take(pools, worker) == []
    await age(pools, 2)
    await pools.wait_for(master, {"a": 1})
    assert await pools.claim_for_pools(worker) == []
    assert await take(pools, worker) == ["a-1"]


async def test_a_check_before_each_lease(pools: PoolScene) -> None:
    """`every_s` 0: nothing is checked while nobody waits."""
    master, worker = await pools.master(), await pools.worker()
    await pools.pool("a", 1, {"script": "true", "every_s": 0})
    assert await take(pools, worker) == []
    await pools.wait_for(master, {"a": 1}, {"a": 1})
    assert await take(pools, worker) == ["a-1"]
    await record(pools, worker, "a-1", None)
    [task] = await pools.claim_for_pools(worker)
    await pools.end(worker, task)
    assert await pools.claim_for_pools(worker) == []
    assert await take(pools, worker) == ["a-1"]
    await record(pools, worker, "a-1", None)
    await age(pools, 6)
    assert await pools.claim_for_pools(worker) == [], "it passed too long ago"


async def test_who_needs_several_gets_them_however_slow_their_checks_are(pools: PoolScene) -> None:
    """What passed first stays good until the last has passed, and is checked again only with the others."""
    master, worker = await pools.master(), await pools.worker()
    await pools.pool("a", 3, {"script": "true", "every_s": 0, "timeout_s": 20})
    await pools.wait_for(master, {"a": 1})
    assert await take(pools, worker, 1) == ["a-1"]
    await record(pools, worker, "a-1", None)
    [holder] = await pools.claim_for_pools(worker)
    await pools.wait_for(master, {"a": 3})
    assert await take(pools, worker, 2) == ["a-2", "a-3"]
    await record(pools, worker, "a-2", None)
    await record(pools, worker, "a-3", None)
    await age(pools, 6)
    assert await take(pools, worker) == ["a-2", "a-3"], "there are not three, so all the usual times hold"
    await record(pools, worker, "a-2", None)
    await record(pools, worker, "a-3", None)
    await age(pools, 6)
    await pools.end(worker, holder)
    later = (
        "UPDATE pool_resource SET checked_at = checked_at - passed, free_since = free_since - passed "
        "FROM make_interval(secs => 7) AS passed"
    )
    for _ in range(3):  # since the last was given back, one after the other, 7 s each
        [name] = await take(pools, worker, 1)
        assert await pools.claim_for_pools(worker) == []
        await pools.sql(later)
        await record(pools, worker, name, None)
    [task] = await pools.claim_for_pools(worker)
    assert await pools.holders() == dict.fromkeys(("a-1", "a-2", "a-3"), task.id)


async def test_who_needs_several_gets_them_whatever_else_waits_in_the_line(pools: PoolScene) -> None:
    """More than any claim reads one by one, of a group that nobody serves; and one that needs more, of which some are
    given back all the time."""
    master, worker = await pools.master(), await pools.worker()
    await pools.pool("a", 4, {"script": "true", "every_s": 0, "timeout_s": 20})
    await pools.wait_for(master, *[{"a": 1}] * 60, {"a": 4}, worker_group="gpu")
    await pools.wait_for(master, {"a": 3})
    names = await take(pools, worker, 3)
    for name in names:  # one after the other, 7 s each
        await record(pools, worker, name, None)
        await age(pools, 7)
    await pools.sql("UPDATE pool_resource SET free_since = clock_timestamp() WHERE name = 'a-4'")
    [task] = await pools.claim_for_pools(worker)
    assert await pools.holders() == dict.fromkeys(names, task.id)


async def test_what_passed_long_ago_is_checked_again_also_for_who_needs_several(pools: PoolScene) -> None:
    """After twice the time that checking so many may take, and `every`."""
    master, worker = await pools.master(), await pools.worker()
    await pools.pool("a", 2, {"script": "true", "every_s": 10, "timeout_s": 20})
    await pools.wait_for(master, {"a": 2, "none": 1})
    assert await take(pools, worker) == ["a-1", "a-2"]
    await record(pools, worker, "a-1", None)
    await record(pools, worker, "a-2", None)
    await age(pools, 49)
    assert await take(pools, worker) == []
    await age(pools, 2)
    assert await take(pools, worker) == ["a-1", "a-2"]


async def test_another_checks_what_a_dead_worker_or_one_that_takes_too_long_began(pools: PoolScene) -> None:
    worker, other = await pools.worker(), await pools.worker()
    await pools.pool("a", 2, {"script": "true", "every_s": 60, "timeout_s": 5})
    await take(pools, worker)
    await pools.fence(worker)
    assert await take(pools, other) == ["a-1", "a-2"]
    await record(pools, worker, "a-1", "too late")
    assert await set_aside(pools) == {}
    assert await take(pools, other) == []
    await pools.sql("UPDATE pool_resource SET checking_since = now() - interval '66 s' WHERE name = 'a-2'")
    assert await take(pools, other) == ["a-2"]


async def test_a_check_without_a_result_changes_nothing(pools: PoolScene) -> None:
    worker = await pools.worker()
    await pools.pool("a", 1, {"script": "true", "every_s": 60})
    await take(pools, worker)
    await record(pools, worker, "a-1", None, has_result=False)
    assert await pools.sql("SELECT checked_at, checking_by FROM pool_resource") == [(None, None)]


async def test_what_a_person_set_aside_is_not_checked_and_stays_aside(pools: PoolScene) -> None:
    worker = await pools.worker()
    await pools.pool("a", 2, {"script": "true", "every_s": 60})
    by_hand = (
        "UPDATE pool_resource SET set_aside_at = now(), set_aside_why = 'mine', set_aside_by = 'ann' WHERE name = "
    )
    await pools.sql(by_hand + "'a-1'")
    assert await take(pools, worker) == ["a-2"]
    await pools.sql(by_hand + "'a-2'")
    await record(pools, worker, "a-2", None)
    assert await set_aside(pools) == {"a-1": "mine", "a-2": "mine"}


async def test_what_was_removed_while_it_was_checked_goes(pools: PoolScene) -> None:
    worker = await pools.worker()
    await pools.pool("a", 1, {"script": "true", "every_s": 60})
    await take(pools, worker)
    await pools.sql("UPDATE pool_resource SET removed = true")
    await record(pools, worker, "a-1", None)
    assert await pools.sql("SELECT id FROM pool_resource") == []


async def test_a_poll_says_that_resources_are_to_be_checked(pools: PoolScene) -> None:
    worker = await pools.worker()

    async def is_said() -> bool:
        async with pools.database.reading() as connection:
            return (await task_claims.work_waits(connection, ["default"], worker.epoch)).checks

    await pools.pool("plain", 1)
    assert not await is_said()
    await pools.pool("a", 1, {"script": "true", "every_s": 60})
    assert await is_said()
    await take(pools, worker)
    assert not await is_said()


@pytest.mark.parametrize(
    "check",
    [
        '{"script": "true", "every_s": 1e300, "timeout_s": 1e300}',
        '{"script": "true", "every_s": 1e400, "timeout_s": 1e400}',
        '{"script": "true", "every_s": -1e400, "timeout_s": -1e400}',
        "{}",
    ],
)
async def test_a_check_that_somebody_wrote_wrong_holds_up_no_other_pool(pools: PoolScene, check: str) -> None:
    master, worker = await pools.master(), await pools.worker()
    await pools.pool("good", 1, {"script": "true", "every_s": 60})
    await pools.pool("odd", 1)
    await pools.sql("UPDATE resource_pool SET validity_check = CAST(:odd AS jsonb) WHERE name = 'odd'", odd=check)
    await pools.sql("UPDATE pool_resource SET checked_at = now(), set_aside_at = now(), set_aside_why = 'x'")
    await age(pools, 61)
    await pools.wait_for(master, {"odd": 1}, {"good": 1})
    async with pools.database.reading() as connection:
        assert (await task_claims.work_waits(connection, ["default"], worker.epoch)).checks
    assert "good-1" in await take(pools, worker)
    await record(pools, worker, "good-1", None)
    assert [task.code for task in await pools.claim_for_pools(worker)] == [2]
    await take(pools, worker)


async def test_a_worker_that_does_not_know_what_it_took_gives_back_what_it_does_not_check(pools: PoolScene) -> None:
    """After a COMMIT whose answer was lost."""
    worker, other = await pools.worker(), await pools.worker()
    await pools.pool("a", 3, {"url": "http://x/", "every_s": 60})
    assert (await take(pools, worker, 2), await take(pools, other)) == (["a-1", "a-2"], ["a-3"])
    [running] = await pools.sql("SELECT id, checking_since FROM pool_resource WHERE name = 'a-2'")

    async def give_back(*running: tuple[int, datetime]) -> bool:
        async with pools.writing() as connection:
            return await pool_checks.give_back(connection, running, worker.epoch)

    async with pools.writing() as stranger:
        await stranger.execute(Sql("SELECT FROM pool_resource WHERE name = 'a-1' FOR UPDATE"))
        assert not await give_back(running)
    assert await give_back(running)
    assert await take(pools, worker) == ["a-1"], "neither what it checks, nor what another checks"
    assert await give_back((running[0], running[1] - timedelta(seconds=1)))
    assert sorted(await take(pools, worker)) == ["a-1", "a-2"], "it checks another version of that one"
