"""`worker/claims/writer.py`: what a worker says of its rows is said while they are its own."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any, cast

import pytest
import pytest_asyncio
from structlog.testing import capture_logs

from dao.pools import pool_claims
from dao.postgres.database import Database
from dao.tasks import task_claims
from dao.tasks.task_claims import ClaimedTask, Report
from model.cluster.timing import Timing
from model.errors import Fenced, Unknown
from node.life import Life
from node.lives import end_all
from node.overload import Overload
from tests.dao.pool_scene import PoolScene
from tests.dao.scene import Scene
from tests.eventually import eventually
from worker.claims.writer import Writer
from worker.settings import WorkerSettings


class Endless:
    """An executor whose tasks never end."""

    def __init__(self) -> None:
        self.settings = WorkerSettings()
        self.overload = Overload(self.settings.load, so="")
        self.begun = 0

    async def run(self, _task: object) -> Report:
        self.begun += 1
        await asyncio.Event().wait()
        raise AssertionError("nobody sets it")


@pytest_asyncio.fixture
async def rows(database_url: str) -> AsyncIterator[Scene]:
    """A database, and sentences for what a test wants to be there."""
    database = Database(database_url, application_name="shoal-test")
    yield Scene(database)
    await database.close()


async def test_a_worker_that_slept_through_its_fence_does_not_call_its_rows_wrong(rows: Scene) -> None:
    master, me = await rows.master(), await rows.worker()
    await rows.queue(await rows.instance(master), 1, master=master)
    life, executor = Life(rows.database, me, Timing()), Endless()
    writer = Writer(life, cast(Any, executor), lambda _id: None)
    writer.queued = True
    writer.wake.set()
    running = asyncio.create_task(writer.run())
    await eventually(lambda: executor.begun == 1)

    await rows.fence(me)
    await rows.sql("UPDATE task_instance SET state = 'NEED_FAULT_TOLERANCE', ended_at = now()")
    with capture_logs() as said:
        writer.compares = True
        writer.wake.set()
        with pytest.raises(Fenced):
            await asyncio.wait_for(running, 30)
    assert [event["event"] for event in said if event["event"] == "task_runs_without_its_row"] == []

    await writer.abandon()
    await life.close()


async def test_a_claim_of_unknown_outcome_is_read_after_it_has_ended_also_if_rows_are_being_read(
    rows: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An earlier read may lack what the claim brought, which would then never begin."""
    me = await rows.worker()
    life = Life(rows.database, me, Timing())
    writer = Writer(life, cast(Any, Endless()), lambda _id: None)
    pools_answer, rows_answer, reads = asyncio.Event(), asyncio.Event(), 0

    async def broken_claim(*_: object) -> list[ClaimedTask]:
        raise Unknown("its COMMIT was interrupted")

    async def broken_hold(*_: object) -> dict[str, bool]:
        if pools_answer.is_set():
            return {}
        await pools_answer.wait()
        raise Unknown("its COMMIT was interrupted")

    async def read_slowly(*_: object) -> list[ClaimedTask]:
        nonlocal reads
        reads += 1
        await rows_answer.wait()
        return []

    async def ended() -> None:
        """All writes have."""

    monkeypatch.setattr(life, "barrier", ended)
    monkeypatch.setattr(pool_claims, "hold_pools", broken_hold)
    monkeypatch.setattr(task_claims, "claim", broken_claim)
    monkeypatch.setattr(task_claims, "owned", read_slowly)
    running = [asyncio.create_task(each) for each in (writer.run(), writer.pools.run())]
    writer.pools.notice()
    await eventually(lambda: writer.pools.is_under_way)
    writer.queued = True
    writer.wake.set()
    await eventually(lambda: reads == 1)
    writer.queued = False
    pools_answer.set()
    await eventually(writer.wake.is_set)
    rows_answer.set()
    await eventually(lambda: reads == 2)
    await eventually(lambda: not writer.pools.in_doubt)
    await end_all(running)
    await life.close()


async def test_what_a_claim_of_unknown_outcome_brought_is_not_called_wrong_meanwhile(rows: Scene) -> None:
    pools = PoolScene(rows.database)
    master, me = await pools.master(), await pools.worker()
    await pools.pool("a", 1)
    await pools.wait_for(master, {"a": 1})
    [task] = await pools.claim_for_pools(me)
    life = Life(rows.database, me, Timing())
    writer = Writer(life, cast(Any, Endless()), lambda _id: None)
    writer.pools.in_doubt = True
    running = asyncio.create_task(writer.run())
    for _ in range(4):
        writer.compares = writer.kills = True  # a comparison, if there is one, has ended when the next kill is read
        writer.wake.set()
        await eventually(lambda: not writer.kills)
    assert await pools.holders() == {"a-1": task.id}
    assert await pools.sql("SELECT state FROM task_instance") == ["RUNNING_EXECUTION"]
    await end_all([running])
    await life.close()
