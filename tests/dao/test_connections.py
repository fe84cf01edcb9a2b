"""A pool keeps what is needed at once, and closes what idles."""

from __future__ import annotations

import asyncio
import gc
from contextlib import AsyncExitStack

import pytest

from dao.postgres import database as module
from dao.postgres.connection import Connection
from dao.postgres.database import Database, connect
from dao.postgres.pool import Pool
from dao.postgres.sql import Sql
from tests.dao.scene import Scene
from tests.eventually import eventually

OURS = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'shoal-idle'"


async def test_connections_that_nobody_needs_are_closed_and_come_back_when_they_are_needed(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "IDLE_S", 0.3)
    pool = Database(scene.database.url, application_name="shoal-idle")

    async def use(count: int) -> None:
        async with AsyncExitStack() as stack:
            for _ in range(count):
                connection = await stack.enter_async_context(pool.reading())
                await connection.execute(Sql("SELECT 1"))

    async def idle() -> int:
        """As a node that looks now and then."""
        await use(1)
        return int((await scene.sql(OURS))[0])

    for _ in range(2):
        await use(8)
        assert (await scene.sql(OURS)) == [8]
        await eventually(idle, until=1)
    await pool.close()
    await eventually(lambda: scene.sql(OURS), until=[0])


@pytest.mark.parametrize("writes", [False, True])
async def test_what_is_in_use_when_the_others_are_closed_is_closed_when_it_is_given_back(
    scene: Scene, writes: bool
) -> None:
    pool = Database(scene.database.url, application_name="shoal-idle")
    gc.disable()  # it would close them too, some time
    try:
        async with pool.writing() if writes else pool.reading() as connection:
            await connection.execute(Sql("SELECT 1"))
            pool.doubt()
            await connection.execute(Sql("SELECT 1"))
        await eventually(lambda: scene.sql(OURS), until=[0])
        async with pool.writing() if writes else pool.reading() as connection:
            await connection.execute(Sql("SELECT 1"))
            await pool.close()
        await eventually(lambda: scene.sql(OURS), until=[0])
    finally:
        gc.enable()


async def test_what_is_in_use_at_once_again_and_again_stays_open(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "IDLE_S", 0.1)
    pool = Database(scene.database.url, application_name="shoal-idle")
    pids: set[int] = set()

    async def work() -> None:
        async with pool.writing() as connection:
            pids.add((await connection.execute(Sql("SELECT pg_backend_pid()"))).scalar_one())
            await connection.execute(Sql("SELECT pg_sleep(0.02)"))

    for _ in range(20):
        await asyncio.gather(work(), work(), work())
    assert len(pids) == 3
    await pool.close()


@pytest.mark.parametrize("writes", [False, True])
async def test_what_is_given_back_while_the_others_are_closed_is_closed_too(scene: Scene, writes: bool) -> None:
    pool = Database(scene.database.url, application_name="shoal-idle")

    async def use(done: asyncio.Event) -> None:
        async with pool.writing() if writes else pool.reading() as connection:
            await connection.execute(Sql("SELECT 1"))
            await done.wait()

    gc.disable()  # it would close them too, some time
    try:
        for steps in range(20):
            done = asyncio.Event()
            using = asyncio.create_task(use(done))
            await eventually(lambda: scene.sql(OURS), until=[1])
            done.set()
            for _ in range(steps):
                await asyncio.sleep(0)
            await pool.close()
            await using
            await eventually(lambda: scene.sql(OURS), until=[0], within_s=30)
    finally:
        gc.enable()


async def test_what_is_made_while_the_others_are_closed_is_closed_too(scene: Scene) -> None:
    is_made, go_on = asyncio.Event(), asyncio.Event()

    async def slowly() -> Connection:
        connection = await connect(scene.database.url, "shoal-idle", 5)
        is_made.set()
        await go_on.wait()
        return connection

    pool = Pool(slowly, 1)
    taking = asyncio.create_task(pool.take())
    await is_made.wait()
    pool.close_idle()
    go_on.set()
    connection, generation = await taking
    await pool.give_back(connection, generation)
    assert connection.closed and pool.idle == 0


async def test_a_node_plans_each_statement_once_at_its_first_execution(scene: Scene) -> None:
    pool = Database(scene.database.url, application_name="shoal-idle", keeps_plans=True)
    async with pool.reading() as connection:
        await connection.execute(Sql("SELECT 1 AS once"))
        kept = await connection.execute(Sql("SELECT statement FROM pg_prepared_statements ORDER BY prepare_time"))
        assert kept.scalars()[0] == "SELECT 1 AS once"
    await pool.close()


async def test_one_use_after_the_other_is_of_one_connection_which_has_its_plans(scene: Scene) -> None:
    pool = Database(scene.database.url, application_name="shoal-idle")
    pid = Sql("SELECT pg_backend_pid()")
    async with pool.reading() as back_last, pool.reading() as back_first:
        last = (await back_last.execute(pid)).scalar_one()
        assert (await back_first.execute(pid)).scalar_one() != last
    used = []
    for _ in range(4):
        async with pool.reading() as connection:
            used.append((await connection.execute(pid)).scalar_one())
    assert set(used) == {last}
    await pool.close()
