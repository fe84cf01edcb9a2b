"""The database's clock was an hour ahead, and is right again: a time to come is neither fresh nor far away."""

from __future__ import annotations

from datetime import timedelta

import pytest
import pytest_asyncio

from dao.accounts import login_attempts, login_links, sessions, tokens
from dao.accounts.tokens import NewToken
from dao.cluster import log_stores
from dao.commands import commands, waiting_work
from dao.pools import pool_checks
from dao.pools.pool_checks import Checked
from dao.postgres.database import Database
from dao.tasks import task_timers
from model.accounts.login_limits import FREE_OF_NAME
from model.accounts.rights import Scope
from model.cluster.slots import Slot
from model.ids import Epoch
from model.runs.states import WaitReason
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
    delay = {} if waits == "a limit in the queue" else {"wait_reason": WaitReason.RETRY, "due_in_minutes": 10}
    await pools.queue(await pools.instance(master), 1, master=master, dispatch_timeout_s=600, **delay)
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
    assert left_s <= 600
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


async def test_a_command_may_be_taken_by_any_master(pools: PoolScene) -> None:
    master, minute = await pools.master(), timedelta(minutes=1)
    await pools.sql("INSERT INTO command (type, workflow_code) VALUES ('START_PROCESS', 1)")
    await pools.sql("INSERT INTO command (type, workflow_instance_id) VALUES ('STOP', 1)")

    async def is_aged() -> bool:
        async with pools.database.reading() as connection:
            return (await waiting_work.work_waits(connection, None, minute, 1, master.epoch)).aged

    assert not await is_aged()
    async with pools.writing() as connection:
        assert await commands.steal(connection, minute, 10) == []
    await set_clock_back(pools, "command", "created_at")
    assert await is_aged()
    async with pools.writing() as connection:
        assert [each.type for each in await commands.claim_urgent(connection, None, minute, 10, 1)] == ["STOP"]
        assert [each.type for each in await commands.steal(connection, minute, 10)] == ["START_PROCESS"]


async def test_the_age_of_commands_counts_first_and_the_limit_is_of_all(pools: PoolScene) -> None:
    await pools.sql(
        "INSERT INTO command (type, created_at) SELECT 'STOP', now() + n * interval '1 h' "
        "FROM unnest(ARRAY[1, -1, 2, 0]) AS n"
    )
    async with pools.writing() as connection:
        assert [each.id for each in await commands.steal(connection, timedelta(minutes=1), 2)] == [1, 2]


async def test_a_login_is_seen_and_a_link_of_the_future_lets_nobody_in(pools: PoolScene) -> None:
    (account,) = await pools.sql("INSERT INTO account (name) VALUES ('anna') RETURNING id")
    session, token, old, new = (bytes([n]) * 32 for n in range(4))
    async with pools.writing() as connection:
        await sessions.insert(connection, account, session, session, "10.0.0.1", "")
        await tokens.insert(connection, account, NewToken("t", token, [Scope.RUNS_READ], None, timedelta(days=1)))
        await tokens.find(connection, {token: "10.0.0.1"})
        await login_links.insert(connection, account, old, timedelta(minutes=5))
    await set_clock_back(pools, "login_session", "last_seen_at", "created_at", "expires_at")
    await set_clock_back(pools, "token", "last_used_at")
    await set_clock_back(pools, "login_link", "created_at", "expires_at")
    async with pools.writing() as connection:
        await login_links.insert(connection, account, new, timedelta(minutes=5))
        assert await sessions.find(connection, session) is not None
        assert token in await tokens.find(connection, {token: "10.0.0.1"})
        assert await login_links.use(connection, old) is None, "it would be valid for an hour more"
        assert await login_links.use(connection, new) == account
    assert await pools.sql(f"SELECT last_seen_at <= {NOW} FROM login_session") == [True]
    assert await pools.sql(f"SELECT last_used_at <= {NOW} FROM token") == [True]


@pytest.mark.parametrize("walked_to", ["20260101/x", ""])
async def test_a_walk_through_a_log_store_goes_on(pools: PoolScene, walked_to: str) -> None:
    async with pools.writing() as connection:
        await log_stores.enter(connection, "s3://logs")
        assert await log_stores.take_step(connection, "s3://logs", 300, 30) is not None
        await log_stores.step_done(connection, "s3://logs", walked_to, pause_s=60, round_s=3_600)
    async with pools.writing() as connection:
        assert await log_stores.take_step(connection, "s3://logs", 300, 30) is None
    await set_clock_back(pools, "log_store", "walk_due_at", "walk_began")
    async with pools.writing() as connection:
        assert await log_stores.take_step(connection, "s3://logs", 300, 30) is not None
        assert await log_stores.take_step(connection, "s3://logs", 300, 30) is None
