"""`worker/results/former_lives.py`: what a former life left is told in its name, once, and not after it was fenced."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from uuid import uuid4

import pytest_asyncio
from structlog.testing import capture_logs

from dao.cluster import nodes
from dao.cluster.nodes import Me
from dao.postgres.database import Database
from dao.postgres.sql import Sql
from dao.tasks.task_claims import ClaimedTask, Report
from model.runs.states import TaskState
from tests.dao.scene import Scene
from worker.results.former_lives import report_left_results
from worker.results.spool import Spool


@pytest_asyncio.fixture
async def rows(database_url: str) -> AsyncIterator[Scene]:
    """A database, and sentences for what a test wants to be there."""
    database = Database(database_url, application_name="shoal-test")
    yield Scene(database)
    await database.close()


async def former(rows: Scene, count: int = 3) -> tuple[Me, list[ClaimedTask]]:
    """A worker with `count` running tasks."""
    master, worker = await rows.master(), await rows.worker()
    await rows.queue(await rows.instance(master), *range(1, count + 1), master=master)
    return worker, sorted(await rows.claim(worker), key=lambda task: task.code)


def success(task: ClaimedTask) -> Report:
    return Report(task.id, task.attempt, TaskState.SUCCESS, "", 0, '{"a": "1"}')


def leave(folder: Path, worker: Me, *reports: Report) -> None:
    """Write the results that the worker left when it died."""
    spool = Spool(folder, worker)
    spool.store(reports)
    spool.close()


async def tell(rows: Scene, folder: Path) -> list[str]:
    """Report them, and return the messages; nothing stays in the folder."""
    with capture_logs() as said:
        await report_left_results(folder, rows.database.url, 10)
    assert list(folder.iterdir()) == []
    return [event["event"] for event in said]


async def test_what_is_left_ends_its_attempts_and_tells_their_owner(rows: Scene, tmp_path: Path) -> None:
    worker, (one, two, _) = await former(rows)
    leave(tmp_path, worker, success(one), Report(two.id, 1, TaskState.FAILURE, "exit code 3", 3, None))
    assert await tell(rows, tmp_path) == ["left_results_reported"]
    assert await rows.states() == {1: "SUCCESS", 2: "FAILURE", 3: "RUNNING_EXECUTION"}
    assert await rows.sql("SELECT task_code, attempt, state FROM task_event ORDER BY 1") == [
        (1, 1, "SUCCESS"),
        (2, 1, "FAILURE"),
    ]
    assert await rows.sql("SELECT state FROM node WHERE kind = 'WORKER'") == ["ALIVE"], "fencing is not its business"


async def test_told_twice_changes_nothing(rows: Scene, tmp_path: Path) -> None:
    worker, (one, *_) = await former(rows)
    for _ in range(2):
        leave(tmp_path, worker, success(one))
        assert await tell(rows, tmp_path) == ["left_results_reported"]
    assert await rows.sql("SELECT count(*) FROM task_event") == [1]


async def test_one_that_was_leaving_may_still_tell(rows: Scene, tmp_path: Path) -> None:
    worker, (one, *_) = await former(rows)
    await rows.sql("UPDATE node SET state = 'LEAVING' WHERE id = :id", id=worker.epoch)
    leave(tmp_path, worker, success(one))
    await tell(rows, tmp_path)
    assert (await rows.states())[1] == "SUCCESS"


async def test_after_the_fence_it_is_too_late(rows: Scene, tmp_path: Path) -> None:
    worker, (one, *_) = await former(rows)
    leave(tmp_path, worker, success(one))
    assert await rows.fence(worker)
    assert await tell(rows, tmp_path) == ["left_results_dropped"]
    assert (await rows.states())[1] == "RUNNING_EXECUTION"
    assert await rows.sql("SELECT count(*) FROM task_event") == [0]


async def test_a_fence_that_is_just_being_put_up_is_waited_for(rows: Scene, tmp_path: Path) -> None:
    worker, (one, *_) = await former(rows)
    leave(tmp_path, worker, success(one))
    async with rows.writing() as judge:
        await judge.execute(Sql("UPDATE node SET state = 'FENCED' WHERE id = :id"), {"id": worker.epoch})
        telling = asyncio.create_task(tell(rows, tmp_path))
        await rows.waits_for_a_lock()
    assert await telling == ["left_results_dropped"]
    assert (await rows.states())[1] == "RUNNING_EXECUTION"


async def test_a_fence_waits_until_what_is_being_told_is_told(rows: Scene, tmp_path: Path) -> None:
    """Neither row is skipped: marking its tasks as lost after the fence finds the one that has ended."""
    worker, (one, *_) = await former(rows)
    leave(tmp_path, worker, success(one))
    async with rows.writing() as stranger:
        await stranger.execute(Sql("SELECT FROM task_instance WHERE id = :id FOR UPDATE"), {"id": one.id})
        telling = asyncio.create_task(tell(rows, tmp_path))
        await rows.waits_for_a_lock()
        fencing = asyncio.create_task(_fence_without_ending_sessions(rows, worker))
        await asyncio.wait([fencing], timeout=0.3)
        assert not fencing.done()
    assert await telling == ["left_results_reported"]
    await fencing
    assert (await rows.states())[1] == "SUCCESS"


async def _fence_without_ending_sessions(rows: Scene, worker: Me) -> None:
    await rows.sql("UPDATE node SET state = 'FENCED', ended_at = now() WHERE id = :id", id=worker.epoch)


async def test_a_judge_that_ends_the_session_meanwhile_costs_a_try(rows: Scene, tmp_path: Path) -> None:
    """It ends the sessions of the dead first; the row decides the consequences, as always."""
    worker, (one, *_) = await former(rows)
    leave(tmp_path, worker, success(one))
    name = nodes.application_name(worker.kind, worker.epoch)
    async with rows.writing() as stranger:
        await stranger.execute(Sql("SELECT FROM task_instance WHERE id = :id FOR UPDATE"), {"id": one.id})
        telling = asyncio.create_task(tell(rows, tmp_path))
        await rows.waits_for_a_lock()
        await rows.sql(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = :name", name=name
        )
    assert await telling == ["left_results_wait", "left_results_reported"]
    assert (await rows.states())[1] == "SUCCESS"


async def test_what_was_taken_away_meanwhile_stays_as_it_is(rows: Scene, tmp_path: Path) -> None:
    worker, (one, two, three) = await former(rows)
    await rows.sql("UPDATE task_instance SET worker_id = 77 WHERE id = :id", id=one.id)
    await rows.sql("UPDATE task_instance SET attempt = 2 WHERE id = :id", id=two.id)
    await rows.sql("UPDATE task_instance SET state = 'KILL', ended_at = now() WHERE id = :id", id=three.id)
    leave(tmp_path, worker, success(one), success(two), success(three))
    assert await tell(rows, tmp_path) == ["left_results_reported"]
    assert await rows.states() == {1: "RUNNING_EXECUTION", 2: "RUNNING_EXECUTION", 3: "KILL"}


async def test_the_same_epoch_in_another_database_is_another_life(rows: Scene, tmp_path: Path) -> None:
    worker, (one, *_) = await former(rows)
    leave(tmp_path, replace(worker, incarnation=uuid4()), success(one))
    assert await tell(rows, tmp_path) == ["left_results_dropped"]
    assert (await rows.states())[1] == "RUNNING_EXECUTION"


async def test_one_result_that_cannot_be_written_does_not_keep_the_others_back(rows: Scene, tmp_path: Path) -> None:
    worker, (one, two, three) = await former(rows)
    leave(tmp_path, worker, success(one), replace(success(two), attempt=2**31), success(three))
    told = await tell(rows, tmp_path)
    assert told == ["left_results_wait", "left_result_dropped", "left_results_reported"]
    assert await rows.states() == {1: "SUCCESS", 2: "RUNNING_EXECUTION", 3: "SUCCESS"}


async def test_several_lives_are_told_each_by_its_own_fate(rows: Scene, tmp_path: Path) -> None:
    (first, (one, *_)), (second, (two, *_)) = await former(rows), await former(rows)
    leave(tmp_path, first, success(one))
    leave(tmp_path, second, success(two))
    await rows.fence(first)
    assert await tell(rows, tmp_path) == ["left_results_dropped", "left_results_reported"]
    assert await rows.sql(
        "SELECT state FROM task_instance WHERE worker_id = :id AND task_code = 1", id=second.epoch
    ) == ["SUCCESS"]
