"""A master's looks for work: what somebody else holds makes no master spin, and holds up nothing else."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import pytest
import pytest_asyncio
from structlog.testing import capture_logs

from dao.postgres.sql import Sql
from dao.tasks import task_timers
from master.poller import Poller
from model.cluster.master_settings import MasterSettings
from model.runs.queue_places import QueuedAttempt
from model.runs.states import WaitReason
from node.life import Life
from tests.dao.scene import Scene
from tests.eventually import eventually
from tests.master.idle_driver import idle_driver
from tests.master.lives import begin_life

SECOND = 1 / 60
"""In minutes, as waits are written."""


@pytest_asyncio.fixture
async def life(database_url: str) -> AsyncIterator[Life]:
    began = await begin_life(database_url)
    yield began
    await began.close()


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """How many attempts each look queued, since the poller ran."""
    seen: list[int] = []
    queue_due = task_timers.queue_due

    async def spy(connection: Any, limit: int, *which: Any) -> list[QueuedAttempt]:
        queued = await queue_due(connection, limit, *which)
        seen.append(len(queued))
        return queued

    monkeypatch.setattr(task_timers, "queue_due", spy)
    yield seen


@contextmanager
def looking(life: Life) -> Iterator[None]:
    """The poller of a master that has nothing else to do."""
    look = asyncio.Event()
    nobody: Any = SimpleNamespace(
        wake=asyncio.Event(), notice=lambda **_: None, slot=None, any_online=True, walk_on=lambda: None
    )
    poller = Poller(life, nobody, idle_driver(life, look), nobody, nobody, nobody, nobody, MasterSettings(), look)
    task = asyncio.create_task(poller.run())
    try:
        yield
        assert not task.done(), task.exception()
    finally:
        task.cancel()


async def test_an_attempt_whose_row_somebody_holds_makes_no_master_spin_and_the_others_are_queued_in_time(
    life: Life, looks: list[int]
) -> None:
    scene = Scene(life.database)
    run = await scene.instance(life.me)
    held, soon = 1, 2
    for code, wait_s in ((held, 0.0), (soon, 1.0)):
        await scene.queue(run, code, master=life.me, wait_reason=WaitReason.DELAY, due_in_minutes=wait_s * SECOND)
    async with life.database.writing() as stranger:
        await stranger.execute(Sql("SELECT FROM task_instance WHERE task_code = 1 FOR UPDATE"))
        with looking(life):
            begun_s = time.monotonic()
            await eventually(scene.states, until={held: "DELAY_EXECUTION", soon: "QUEUED"}, within_s=10)
            assert len(looks) <= 15 * max(1.0, time.monotonic() - begun_s), "it looked again and again, for nothing"
            await stranger.driver.rollback()
            await eventually(scene.states, until={held: "QUEUED", soon: "QUEUED"})


async def test_after_such_a_while_what_is_due_is_queued_at_once_again(life: Life, looks: list[int]) -> None:
    scene = Scene(life.database)
    run = await scene.instance(life.me)
    await scene.queue(run, 1, master=life.me, wait_reason=WaitReason.RETRY, due_in_minutes=0)
    with looking(life):
        async with life.database.writing() as stranger:
            await stranger.execute(Sql("SELECT FROM task_instance FOR UPDATE"))
            await eventually(lambda: len(looks) > 5)
        await eventually(scene.states, until={1: "QUEUED"})
        before = len(looks)
        await scene.queue(run, 2, master=life.me, wait_reason=WaitReason.RETRY, due_in_minutes=SECOND / 2)
        await eventually(scene.states, until={1: "QUEUED", 2: "QUEUED"})
        assert len(looks) <= before + 3


REFUSES = """
    CREATE FUNCTION refuse_it() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        IF NEW.task_code = 1 AND NEW.state IN ('QUEUED', 'FAILURE') THEN
            RAISE EXCEPTION 'never' USING ERRCODE = 'restrict_violation';
        END IF;
        RETURN NEW;
    END $$
"""


async def test_an_attempt_that_cannot_be_queued_or_ended_holds_up_no_other(life: Life) -> None:
    """Whatever is wrong with its row: here a trigger refuses it."""
    scene = Scene(life.database)
    run = await scene.instance(life.me)
    for code in (1, 2, 3):
        await scene.queue(run, code, master=life.me, wait_reason=WaitReason.RETRY, due_in_minutes=0)
    for code in (4, 5):
        await scene.queue(run, code, master=life.me)
    late = "UPDATE task_instance SET dispatch_timeout_s = 1, dispatch_by = now() - interval '1 s' WHERE task_code IN "
    await scene.sql(f"{late} (4, 5)")
    await scene.sql(REFUSES.replace("task_code = 1", "task_code IN (1, 4)"))
    await scene.sql("CREATE TRIGGER refuses BEFORE UPDATE ON task_instance FOR EACH ROW EXECUTE FUNCTION refuse_it()")
    wrong = {1: "DELAY_EXECUTION", 2: "QUEUED", 3: "QUEUED", 4: "QUEUED", 5: "FAILURE"}
    with capture_logs() as said, looking(life):
        await eventually(scene.states, until=wrong)
        await scene.sql("DROP TRIGGER refuses ON task_instance")
        await eventually(scene.states, until={**wrong, 1: "QUEUED", 4: "FAILURE"})
    kinds = {event["event"] for event in said if event["event"].endswith("_quarantined")}
    assert kinds == {"queuing_quarantined", "ending_quarantined"}


async def test_a_limit_on_the_wait_for_a_worker_that_no_interval_takes_is_a_long_one(life: Life) -> None:
    """Somebody wrote it by hand."""
    scene = Scene(life.database)
    await scene.queue(await scene.instance(life.me), 1, master=life.me, wait_reason=WaitReason.RETRY, due_in_minutes=0)
    await scene.sql("UPDATE task_instance SET dispatch_timeout_s = '1e300'")
    with looking(life):
        await eventually(scene.states, until={1: "QUEUED"})
    assert await scene.sql("SELECT dispatch_by > now() + interval '30 y' FROM task_instance") == [True]
