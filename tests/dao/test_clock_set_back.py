"""The database's clock was an hour ahead, and is right again: a time to come is neither fresh nor far away."""

from __future__ import annotations

from datetime import timedelta

import pytest
import pytest_asyncio

from dao.accounts import login_attempts
from dao.commands import waiting_work
from dao.postgres.database import Database
from dao.tasks import pool_checks, task_timers
from dao.tasks.pool_checks import Checked
from model.ids import Epoch
from model.login_limits import FREE_OF_NAME
from model.nodes import Slot
from model.states import WaitReason
from tests.dao.pool_scene import PoolScene

NOW = "clock_timestamp()"


@pytest_asyncio.fixture
async def pools(database: Database) -> PoolScene:
    return PoolScene(database)


async def set_clock_back(pools: PoolScene, table: str, *columns: str) -> None:
    """An hour: what was written before lies in the future by that much."""
    moved = ", ".join(f"{column} = {column} + interval '1 hour'" for column in columns)
    await pools.sql(f"UPDATE {table} SET {moved}")


async def checked(pools: PoolScene, worker: Epoch, why: str | None = None) -> list[str]:
    """Check what is to be checked; the names."""
    async with pools.writing() as connection:
        due = await pool_checks.take(connection, 100, worker)
        await pool_checks.record(connection, [Checked(each.id, each.since, why, True) for each in due], worker)
    return sorted(each.name for each in due)


@pytest.mark.parametrize("every_s", [0, 5, 3_600])
async def test_a_resource_is_given_after_a_check_and_never_without_one(pools: PoolScene, every_s: int) -> None:
    master, worker = await pools.master(), await pools.worker()
    await pools.pool("a", 1, {"url": "http://x/", "every_s": every_s})
    await pools.wait_for(master, {"a": 1}, {"a": 1})
    await checked(pools, worker.epoch)
    (first,) = await pools.claim_for_pools(worker)
    await pools.end(worker, first)
    await checked(pools, worker.epoch)
    await set_clock_back(pools, "pool_resource", "checked_at", "free_since")
    assert await pools.claim_for_pools(worker) == [], "nobody knows when it was checked"
    assert await checked(pools, worker.epoch) == ["a-1"]
    assert len(await pools.claim_for_pools(worker)) == 1


async def test_who_needs_several_gets_them(pools: PoolScene) -> None:
    master, worker = await pools.master(), await pools.worker()
    await pools.pool("a", 2, {"url": "http://x/", "every_s": 0})
    await pools.sql(f"UPDATE pool_resource SET free_since = {NOW}")
    await pools.wait_for(master, {"a": 2})
    await checked(pools, worker.epoch)
    await set_clock_back(pools, "pool_resource", "checked_at", "free_since")
    await checked(pools, worker.epoch)
    assert len(await pools.claim_for_pools(worker)) == 1


async def test_what_was_set_aside_is_checked_again(pools: PoolScene) -> None:
    worker = await pools.worker()
    await pools.pool("a", 1, {"url": "http://x/", "every_s": 60})
    await checked(pools, worker.epoch, "it is broken")
    await set_clock_back(pools, "pool_resource", "checked_at", "set_aside_at")
    assert await checked(pools, worker.epoch) == ["a-1"]


async def test_a_check_that_nobody_does_any_more_is_done_again(pools: PoolScene) -> None:
    worker = await pools.worker()
    await pools.pool("a", 1, {"url": "http://x/", "every_s": 60, "timeout_s": 5})
    async with pools.writing() as connection:
        await pool_checks.take(connection, 100, worker.epoch)
    await set_clock_back(pools, "pool_resource", "checking_since")
    assert await checked(pools, worker.epoch) == ["a-1"]


@pytest.mark.parametrize("waits", ["a retry", "a delay beyond the calendar", "a limit in the queue"])
async def test_an_attempt_waits_from_now_on_for_as_long_as_was_meant(pools: PoolScene, waits: str) -> None:
    master = await pools.master()
    delay = {} if waits == "a limit in the queue" else {"wait_reason": WaitReason.RETRY, "due_in_minutes": 1 / 3}
    await pools.queue(await pools.instance(master), 1, master=master, dispatch_timeout_s=20, **delay)
    if "calendar" in waits:
        await pools.sql("UPDATE task_instance SET due_at = 'infinity'")
    await set_clock_back(pools, "task_instance", "queued_at", "due_at", "dispatch_by")

    async def due_in_s() -> float | None:
        async with pools.database.reading() as connection:
            waiting = await waiting_work.work_waits(connection, Slot(0, 1), timedelta(hours=1), 1, master.epoch)
        return waiting.due_in_s

    assert await due_in_s() == 0
    async with pools.writing() as connection:
        assert await task_timers.resume(connection, 100) == 1
    async with pools.writing() as connection:
        assert await task_timers.resume(connection, 100) == 0
    left_s = await due_in_s()
    assert left_s is not None
    assert left_s <= 20
    assert await pools.sql(f"SELECT queued_at <= {NOW} FROM task_instance") == [True]


async def test_what_began_to_wait_in_time_waits_on(pools: PoolScene) -> None:
    master = await pools.master()
    delay = {"wait_reason": WaitReason.DELAY, "due_in_minutes": 1_000_000}
    await pools.queue(await pools.instance(master), 1, master=master, **delay)
    async with pools.writing() as connection:
        assert await task_timers.resume(connection, 100) == 0


async def test_a_lockout_is_no_longer_than_it_was(pools: PoolScene) -> None:
    for _ in range(FREE_OF_NAME + 5):
        async with pools.writing() as connection:
            await login_attempts.begin(connection, "anna", "10.0.0.1")
    await set_clock_back(pools, "login_attempt", "at")
    async with pools.writing() as connection:
        assert not isinstance(await login_attempts.begin(connection, "anna", "10.0.0.1"), timedelta)
