"""`worker/writer.py`: what a worker says of its rows is said while they are its own."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio
from structlog.testing import capture_logs

from dao.postgres.database import Database
from dao.tasks.task_claims import Report
from model.errors import Fenced
from model.timing import Timing
from node.life import Life
from node.overload import Overload
from tests.dao.scene import Scene
from tests.eventually import eventually
from worker.settings import WorkerSettings
from worker.writer import Writer


class Endless:
    """An executor whose tasks never end."""

    def __init__(self) -> None:
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
    life, executor, settings = Life(rows.database, me, Timing()), Endless(), WorkerSettings()
    endless: Any = executor
    writer = Writer(life, endless, settings, Overload(settings.load, so=""), lambda _id: None)
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
            await asyncio.wait_for(running, 10)
    assert [event["event"] for event in said if event["event"] == "task_runs_without_its_row"] == []

    await writer.abandon()
    await life.close()
