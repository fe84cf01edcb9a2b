"""After a load, and before VACUUM, what an idle node sends reads few pages: the indexes still have all of it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any, cast

import pytest

from dao.cluster import gone_nodes
from dao.cluster.nodes import Me
from dao.commands import commands, waiting_work
from dao.commands.commands import NewCommand
from dao.postgres.database import FencedTransaction
from dao.postgres.sql import Sql
from dao.tasks import task_claims, task_events
from dao.tasks.task_claims import Report
from model.choices import Priority
from model.cluster.low_water import FROM_FIRST, MarkOfQueue, Marks, MarksOfLooks
from model.cluster.slots import Slot
from model.ids import WorkflowCode
from model.runs.command_moves import CommandType
from model.runs.states import TaskState
from tests.dao.explaining import Explaining
from tests.dao.scene import Scene

BATCHES, RUNS, TASKS_OF_A_RUN = 12, 200, 5
ALL, AN_HOUR = Slot(0, 1), timedelta(hours=1)
LOOK_PAGES, CLAIM_PAGES = 40, 20
_QUEUE = """
    WITH run AS (
        INSERT INTO workflow_instance (command_id, workflow_code, workflow_version, state, master_id, failure_strategy,
                                       priority, worker_group)
        SELECT id, 1, 1, 'RUNNING_EXECUTION', :master, 'END', 'MEDIUM', 'default'
        FROM unnest(CAST(:ids AS bigint[])) AS id RETURNING id)
    INSERT INTO task_instance (workflow_instance_id, task_code, task_name, task_type, state, worker_group,
                               workflow_priority, task_priority)
    SELECT run.id, n, 'a', 'FAKE', 'QUEUED', 'default', 'MEDIUM', 'MEDIUM' FROM run, generate_series(1, :tasks) AS n
"""
_END = "UPDATE workflow_instance SET state = 'SUCCESS', ended_at = clock_timestamp() WHERE ended_at IS NULL"
Call = Callable[[FencedTransaction], Awaitable[Any]]


async def load(scene: Scene, master: Me, worker: Me) -> None:
    """Commands become runs, whose tasks are claimed and reported; the ends are consumed, and the runs end."""
    for table in ("command", "task_instance", "task_event", "workflow_instance"):
        await scene.sql(f"ALTER TABLE {table} SET (autovacuum_enabled = off)")
    tasks = RUNS * TASKS_OF_A_RUN
    for _ in range(BATCHES):
        async with scene.writing() as connection:
            await commands.insert_many(connection, [NewCommand(CommandType.START_PROCESS, WorkflowCode(1))] * RUNS)
        async with scene.writing() as connection:
            taken = [row.id for row in await commands.claim(cast(FencedTransaction, connection), ALL, RUNS, 1)]
            queued = {"master": master.epoch, "ids": taken, "tasks": TASKS_OF_A_RUN}
            await connection.execute(Sql(_QUEUE), queued)
        async with scene.writing() as connection:
            licensed = cast(FencedTransaction, connection)
            claimed = await task_claims.claim(licensed, ["default"], tasks, worker.epoch)
        async with scene.writing() as connection:
            reports = [Report(task.id, task.attempt, TaskState.SUCCESS, "", 0, None) for task in claimed]
            await task_claims.report(cast(FencedTransaction, connection), reports, worker.epoch)
        async with scene.writing() as connection:
            assert len(await task_events.consume(cast(FencedTransaction, connection), master.epoch, tasks)) == tasks
            await connection.execute(Sql(_END))


@pytest.fixture
async def nodes(scene: Scene) -> tuple[Me, Me]:
    """A master and a worker that have had much to do."""
    master, worker = await scene.master(), await scene.worker()
    await load(scene, master, worker)
    return master, worker


async def pages(scene: Scene, call: Call) -> int:
    """Pages that the statements of a call read, each as often as it is read; what a first one cleans does not count."""
    for _ in range(2):
        async with scene.writing() as connection:
            explaining = Explaining(connection)
            await call(cast(FencedTransaction, explaining))
    return explaining.plan.pages


async def test_the_looks_of_a_master_read_few_pages_once_they_have_marks(scene: Scene, nodes: tuple[Me, Me]) -> None:
    master, _ = nodes
    marks, last_event = MarksOfLooks(), (await scene.sql("SELECT last_value FROM task_event_id_seq"))[0]
    for look in range(6):
        async with scene.database.reading() as connection:
            found = await waiting_work.work_waits(connection, ALL, AN_HOUR, 1, master.epoch, marks=marks.now)
        given = Marks(found.now_s, last_event + 1)
        marks.looked((found.oldest_s, found.events), given, found.horizon, (2.0 * look, 2.0 * look))

    def looks(since: Marks) -> Call:
        return lambda c: waiting_work.work_waits(c, ALL, AN_HOUR, 1, master.epoch, marks=since)

    assert await pages(scene, looks(FROM_FIRST)) > LOOK_PAGES
    assert await pages(scene, looks(marks.now)) <= LOOK_PAGES
    assert await pages(scene, lambda c: task_events.consume(c, master.epoch, 500)) > CLAIM_PAGES
    from_mark = await pages(scene, lambda c: task_events.consume(c, master.epoch, 500, first=marks.now.event))
    assert from_mark <= CLAIM_PAGES
    assert await pages(scene, lambda c: commands.claim(c, ALL, 500, 1)) <= CLAIM_PAGES


async def test_what_waits_above_the_marks_is_found(scene: Scene, nodes: tuple[Me, Me]) -> None:
    master, worker = nodes
    async with scene.database.reading() as connection:
        before = await waiting_work.work_waits(connection, ALL, AN_HOUR, 1, master.epoch)
        queue = await task_claims.work_waits(connection, ["default"], worker.epoch)
    await scene.commands(1)
    await scene.queue(await scene.instance(master), 1, master=master)
    async with scene.database.reading() as connection:
        marks = Marks(before.now_s)
        found = await waiting_work.work_waits(connection, ALL, timedelta(0), 1, master.epoch, marks=marks)
        waits = await task_claims.work_waits(connection, ["default"], worker.epoch, first=queue.given + 1)
    assert (found.mine, found.aged, waits.queued) == (True, True, True)


async def test_the_look_for_what_dead_nodes_left_does_not_walk_over_what_the_living_handled(
    scene: Scene, nodes: tuple[Me, Me]
) -> None:
    assert await pages(scene, gone_nodes.work_left) <= LOOK_PAGES
    for dead in nodes:
        await scene.fence(dead)
    assert await pages(scene, gone_nodes.work_left) > LOOK_PAGES


async def test_the_look_of_a_worker_and_its_claim_read_few_pages(scene: Scene, nodes: tuple[Me, Me]) -> None:
    _, worker = nodes
    mark = MarkOfQueue()
    for look in range(6):
        async with scene.database.reading() as connection:
            waits = await task_claims.work_waits(connection, ["default"], worker.epoch, first=mark.now)
        times_s = (2.0 * look, 2.0 * look)
        mark.looked(found=waits.queued, given=waits.given + 1, horizon=waits.horizon, times_s=times_s)

    def looks(first: int, *, runs: bool) -> Call:
        return lambda c: task_claims.work_waits(c, ["default"], worker.epoch, first=first, runs=runs)

    assert await pages(scene, looks(0, runs=False)) > LOOK_PAGES
    assert await pages(scene, looks(mark.now, runs=False)) <= LOOK_PAGES
    last_run = (await scene.sql("SELECT max(id) FROM workflow_instance"))[0]
    places = {Priority.MEDIUM: {"default": last_run}}
    assert await pages(scene, lambda c: task_claims.claim(c, ["default"], 256, worker.epoch)) > CLAIM_PAGES
    assert await pages(scene, lambda c: task_claims.claim(c, ["default"], 256, worker.epoch, places)) <= CLAIM_PAGES
