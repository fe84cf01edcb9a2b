"""A master's looks for work: what somebody else holds makes no master spin, and holds up nothing else."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import pytest
import pytest_asyncio
from sqlalchemy import text

from dao.tasks import task_timers
from master.poller import Poller
from model.master_settings import MasterSettings
from model.queue_places import QueuedAttempt
from model.states import WaitReason
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

    async def spy(connection: Any, limit: int) -> list[QueuedAttempt]:
        queued = await queue_due(connection, limit)
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
    poller = Poller(life, nobody, idle_driver(life, look), nobody, nobody, nobody, MasterSettings(), look)
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
        await stranger.execute(text("SELECT FROM task_instance WHERE task_code = 1 FOR UPDATE"))
        with looking(life):
            await eventually(scene.states, until={held: "DELAY_EXECUTION", soon: "QUEUED"}, within_s=2.5)
            assert len(looks) <= 15, "it looked again and again, for nothing"
            await stranger.rollback()
            await eventually(scene.states, until={held: "QUEUED", soon: "QUEUED"})


async def test_after_such_a_while_what_is_due_is_queued_at_once_again(life: Life, looks: list[int]) -> None:
    scene = Scene(life.database)
    run = await scene.instance(life.me)
    await scene.queue(run, 1, master=life.me, wait_reason=WaitReason.RETRY, due_in_minutes=0)
    with looking(life):
        async with life.database.writing() as stranger:
            await stranger.execute(text("SELECT FROM task_instance FOR UPDATE"))
            await eventually(lambda: len(looks) > 5)
        await eventually(scene.states, until={1: "QUEUED"})
        before = len(looks)
        await scene.queue(run, 2, master=life.me, wait_reason=WaitReason.RETRY, due_in_minutes=SECOND / 2)
        await eventually(scene.states, until={1: "QUEUED", 2: "QUEUED"})
        assert len(looks) <= before + 3
