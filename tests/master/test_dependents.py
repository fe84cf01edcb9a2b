"""DEPENDENT tasks of one master on a real database: which ends cost something, and that none blocks another."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime
from typing import Any

import pytest
import pytest_asyncio

from dao.postgres.sql import Sql
from dao.runs.dependencies import Happened, WaitingTask, payloads
from master.drive import dependents
from master.drive.dependents import Dependents
from model.ids import TaskInstanceId, WorkflowCode, WorkflowInstanceId
from node.life import Life
from tests.dao.scene import Scene
from tests.eventually import eventually
from tests.master.lives import begin_life

NOON = datetime(2026, 3, 4, 12, tzinfo=UTC)
AWAITED, OTHER = 7, 8
BEGIN = """
    WITH run AS (
        INSERT INTO workflow_instance (command_id, workflow_code, workflow_version, state, master_id, failure_strategy,
                                       priority, worker_group, schedule_time)
        SELECT 5000 + n + (SELECT coalesce(max(id), 0) FROM workflow_instance), 1, 1, 'RUNNING_EXECUTION', :master,
               'CONTINUE', 'MEDIUM', 'default', CAST(:at AS timestamptz)
        FROM generate_series(1, :count) AS n RETURNING id
    )
    INSERT INTO task_instance (workflow_instance_id, task_code, task_name, task_type, state, worker_group,
                               workflow_priority, task_priority, params, started_at)
    SELECT id, 1, 'wait', 'DEPENDENT', 'RUNNING_EXECUTION', 'default', 'MEDIUM', 'MEDIUM', :params, clock_timestamp()
    FROM run RETURNING id
"""


@pytest_asyncio.fixture
async def life(database_url: str) -> AsyncIterator[Life]:
    began = await begin_life(database_url)
    yield began
    await began.close()


class Evaluated:
    """Records what a master evaluates, by the real `evaluate_all`."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.ids: list[TaskInstanceId] = []
        self._evaluate_all = dependents.evaluate_all
        monkeypatch.setattr(dependents, "evaluate_all", self)

    async def __call__(self, connection: Any, waiting: Collection[WaitingTask]) -> Any:
        found = await self._evaluate_all(connection, waiting)
        self.ids += [task.id for task in waiting]  # not before: an evaluation under way may still see what happens next
        return found


class Place:
    """The waiting tasks of one master."""

    def __init__(self, life: Life, loop: Dependents, evaluated: Evaluated) -> None:
        self.loop, self.evaluated = loop, evaluated
        self.scene = Scene(life.database)
        self._life = life

    async def wait_for(self, code: int, count: int = 1, **item: str) -> list[TaskInstanceId]:
        """Runs whose only task waits; returns when each was evaluated."""
        params = json.dumps({"groups": [{"items": [{"workflow": code, "cycle": "today", **item}]}]})
        values = {"master": self._life.me.epoch, "count": count, "params": params, "at": NOON}
        ids = await self.scene.sql(BEGIN, **values)
        runs = await self.scene.sql("SELECT workflow_instance_id FROM task_instance WHERE id = ANY(:ids)", ids=ids)
        self.loop.began(map(WorkflowInstanceId, runs))
        await eventually(lambda: set(ids) <= set(self.evaluated.ids))
        self.evaluated.ids.clear()
        return ids

    async def ends(self, code: int, state: str = "SUCCESS") -> None:
        """End a run of that workflow without a notification."""
        await self.scene.sql(
            """INSERT INTO workflow_instance (command_id, workflow_code, workflow_version, state, master_id, priority,
                                              failure_strategy, worker_group, schedule_time, ended_at)
               SELECT 9000 + coalesce(max(id), 0), :code, 1, :state, 0, 'MEDIUM', 'CONTINUE', 'default',
                      CAST(:at AS timestamptz), clock_timestamp() FROM workflow_instance""",
            code=code,
            state=state,
            at=NOON,
        )

    def tell(self, code: int, task: str | None = None) -> None:
        """Send the notification of another master."""
        for payload in payloads([Happened(WorkflowCode(code), NOON, task)]):
            self.loop.notified(payload)

    async def states(self, ids: Collection[int]) -> set[str]:
        return set(await self.scene.sql("SELECT state FROM task_instance WHERE id = ANY(:ids)", ids=list(ids)))


@pytest_asyncio.fixture
async def place(life: Life, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Place]:
    monkeypatch.setattr(dependents, "RECHECK_S", 1000.0)  # so that only what is told has anybody evaluated
    evaluated = Evaluated(monkeypatch)
    async with running(life) as loop:
        yield Place(life, loop, evaluated)


@asynccontextmanager
async def running(life: Life) -> AsyncIterator[Dependents]:
    loop = Dependents(life, asyncio.Event())
    task = asyncio.create_task(loop.run())
    try:
        await asyncio.sleep(0)
        yield loop
        assert not task.done(), task.exception()
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def test_an_end_costs_only_those_that_await_it(place: Place) -> None:
    many = await place.wait_for(OTHER, 300)
    few = await place.wait_for(AWAITED, 2)
    place.tell(99)
    await place.ends(AWAITED)
    place.tell(AWAITED)
    await eventually(lambda: place.states(few), until={"SUCCESS"})
    assert set(place.evaluated.ids) == set(few)
    assert await place.states(many) == {"RUNNING_EXECUTION"}


async def test_the_success_of_a_task_costs_only_those_that_await_that_task(place: Place) -> None:
    whole = await place.wait_for(AWAITED, 50)
    of_a, of_b = await place.wait_for(AWAITED, task="a"), await place.wait_for(AWAITED, task="b")
    place.tell(AWAITED, "a")
    await eventually(lambda: place.evaluated.ids == of_a)
    assert await place.states([*whole, *of_a, *of_b]) == {"RUNNING_EXECUTION"}


async def test_an_end_that_nobody_heard_of_costs_time_and_no_answer(place: Place) -> None:
    many = await place.wait_for(OTHER, 450)
    few = await place.wait_for(AWAITED, 2)
    await place.ends(AWAITED)
    assert not place.evaluated.ids
    for _ in range(3):  # of the poller's looks
        place.evaluated.ids.clear()
        place.loop.walk_on()
        await eventually(lambda: place.evaluated.ids)
        assert len(place.evaluated.ids) <= dependents.WALK_BATCH
    await eventually(lambda: place.states(few), until={"SUCCESS"})
    assert await place.states(many) == {"RUNNING_EXECUTION"}


async def test_after_a_gap_in_what_it_heard_a_master_judges_all_that_wait(place: Place) -> None:
    few = [*await place.wait_for(AWAITED, 250), *await place.wait_for(AWAITED, task="a")]
    await place.ends(AWAITED, "FAILURE")
    place.loop.notified("")
    await eventually(lambda: place.states(few), until={"FAILURE"})


async def test_what_somebody_else_ended_or_took_is_forgotten(place: Place) -> None:
    ended, taken, stays = [(await place.wait_for(AWAITED))[0] for _ in range(3)]
    await place.scene.sql(
        "UPDATE task_instance SET state = 'KILL', ended_at = clock_timestamp() WHERE id = :id", id=ended
    )
    await place.scene.sql(
        """UPDATE workflow_instance SET master_id = 4711
           WHERE id = (SELECT workflow_instance_id FROM task_instance WHERE id = :id)""",
        id=taken,
    )
    place.loop.notified("")
    await eventually(lambda: set(place.loop._seen) == {stays})
    assert len(place.loop._awaited) == 1


async def test_a_strangers_lock_on_one_of_them_does_not_hold_up_the_others(place: Place) -> None:
    few = await place.wait_for(AWAITED, 20)
    await place.ends(AWAITED)
    async with place.scene.database.writing() as stranger:
        await stranger.execute(Sql("SELECT FROM task_instance WHERE id = :id FOR UPDATE"), {"id": few[0]})
        place.tell(AWAITED)
        await eventually(lambda: place.states(few[1:]), until={"SUCCESS"}, within_s=10)
        later = await place.wait_for(AWAITED)
        await eventually(lambda: place.states(later), until={"SUCCESS"}, within_s=10)
        assert await place.states(few[:1]) == {"RUNNING_EXECUTION"}
    await eventually(lambda: place.states(few), until={"SUCCESS"}, within_s=10)


@pytest.mark.parametrize(
    ("table", "change", "reason"),
    [
        ("task_instance", "params = '{'", "its parameters are no JSON"),
        ("task_instance", "params = '[]'", ""),
        ("workflow_instance", "schedule_time = 'infinity'", "is in no calendar"),
        ("workflow_instance", "schedule_time = '294276-01-01'", "is in no calendar"),
        ("workflow_instance", "time_zone = 'Nowhere/Land'", "there is no time zone"),
        ("task_instance", "timeout_s = 'NaN'", ""),
        ("task_instance", "timeout_s = 'Infinity'", ""),
        ("task_instance", "started_at = NULL", ""),
        ("task_instance", "started_at = '-infinity'", ""),
    ],
)
async def test_an_odd_row_does_not_hold_up_the_others(place: Place, table: str, change: str, reason: str) -> None:
    few = await place.wait_for(AWAITED, 5)
    which = "id = :id"
    if table == "workflow_instance":
        which = "id = (SELECT workflow_instance_id FROM task_instance WHERE id = :id)"
    await place.scene.sql(f"UPDATE {table} SET {change} WHERE {which}", id=few[2])
    await place.ends(AWAITED)
    place.tell(AWAITED)
    others = [id_ for id_ in few if id_ != few[2]]
    await eventually(lambda: place.states(others), until={"SUCCESS"})
    place.loop.notified("")
    if reason:
        await eventually(lambda: place.states(few), until={"SUCCESS", "FAILURE"})
        (said,) = await place.scene.sql("SELECT reason FROM task_instance WHERE id = :id", id=few[2])
        assert reason in said
