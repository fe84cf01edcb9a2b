"""`dao/tasks/looks.py`: an attempt whose look was in vain waits for the next one, or ends."""

from __future__ import annotations

from typing import Any

import pytest

from dao.cluster.nodes import Me
from dao.tasks import lost_tasks, task_claims, task_timers
from dao.tasks.task_claims import ClaimedTask, Report
from model.ids import Epoch, TaskInstanceId
from model.runs.looks import Again
from model.runs.states import TaskState
from tests.dao.scene import Scene

T = TaskState
HOUR = Again(3600.0)


async def look_in_vain(scene: Scene, worker: Me, task: ClaimedTask, again: Again = HOUR) -> dict[TaskInstanceId, Any]:
    report = Report(task.id, task.attempt, T.DELAY_EXECUTION, "no such file", None, None, again=again)
    async with scene.writing() as connection:
        return await task_claims.report(connection, [report], worker.epoch)


async def a_look(scene: Scene) -> tuple[Me, ClaimedTask]:
    """Of a task that a worker has claimed."""
    master, worker = await scene.master(), await scene.worker()
    await scene.queue(await scene.instance(master), 1, master=master, type_="WAIT")
    (task,) = await scene.claim(worker)
    return worker, task


async def due_in_s(scene: Scene) -> float:
    (seconds,) = await scene.sql("SELECT extract(epoch FROM due_at - now())::float8 FROM task_instance")
    return float(seconds)


async def queued_again(scene: Scene) -> None:
    await scene.sql("UPDATE task_instance SET due_at = now() WHERE state = 'DELAY_EXECUTION'")
    async with scene.writing() as connection:
        await task_timers.queue_due(connection, 100)


async def test_it_waits_for_its_next_look_and_holds_nothing(scene: Scene) -> None:
    worker, task = await a_look(scene)
    assert await look_in_vain(scene, worker, task) == {task.id: None}
    query = (
        "SELECT state, worker_id, started_at, ended_at, wait_reason, (looks ->> 'worker')::bigint FROM task_instance"
    )
    assert await scene.sql(query) == [("DELAY_EXECUTION", None, None, None, "LOOK", worker.epoch)]
    assert 3000 < await due_in_s(scene) <= 3601
    assert await scene.sql("SELECT count(*) FROM task_event") == [0]


async def test_the_same_attempt_looks_again_and_its_log_keeps_its_name(scene: Scene) -> None:
    worker, task = await a_look(scene)
    await scene.sql("UPDATE task_instance SET queued_at = queued_at - interval '2 days'")
    (before,) = await scene.sql("SELECT queued_at FROM task_instance")
    for count in (1, 2, 3):
        await look_in_vain(scene, worker, task)
        await queued_again(scene)
        (task,) = await scene.claim(worker)
        assert await scene.sql("SELECT (looks ->> 'count')::int, attempt FROM task_instance") == [(count, 1)]
    assert await scene.sql("SELECT queued_at FROM task_instance") == [before]


@pytest.mark.parametrize(
    ("again", "pauses_s"),
    [
        (Again(4.0), [4, 4, 4]),
        (Again(1_000.0), [1_000, 1_000, 1_000]),
        (Again(1_000.0, 2.0, 36_000.0), [1_000, 2_000, 4_000]),
        (Again(1_000.0, 3.0, 2_500.0), [1_000, 2_500, 2_500]),
        (Again(3_000.0, 1.0, 36_000.0, within_s=2_000.0), [2_000]),
    ],
)
async def test_its_pauses_grow_up_to_their_longest_and_end_with_its_timeout(
    scene: Scene, again: Again, pauses_s: list[float]
) -> None:
    worker, task = await a_look(scene)
    for pause_s in pauses_s:
        await look_in_vain(scene, worker, task, again)
        assert pause_s - 400 < await due_in_s(scene) <= pause_s + 1
        await queued_again(scene)
        (task,) = await scene.claim(worker)


async def test_many_pauses_do_not_overflow(scene: Scene) -> None:
    worker, task = await a_look(scene)
    await scene.sql("""UPDATE task_instance SET looks = '{"count": 1000000000}'""")
    await look_in_vain(scene, worker, task, Again(3600.0, 10.0, 7200.0))
    assert 6600 < await due_in_s(scene) <= 7201


@pytest.mark.parametrize("late", [T.FAILURE, T.SKIPPED])
async def test_at_its_timeout_it_ends_and_its_master_hears_of_it(scene: Scene, late: TaskState) -> None:
    worker, task = await a_look(scene)
    await scene.sql("UPDATE task_instance SET queued_at = queued_at - interval '1 h'")
    (owner,) = (await look_in_vain(scene, worker, task, Again(1.0, within_s=1800.0, late=late))).values()
    assert owner == Epoch(1)
    assert await scene.sql("SELECT state, reason FROM task_instance") == [
        (late, "it waited for its timeout of 30 min; its last look: no such file")
    ]
    assert await scene.sql("SELECT state, owner FROM task_event") == [(late, 1)]


@pytest.mark.parametrize(("in_s", "state"), [(-1, T.SUCCESS), (3600, T.DELAY_EXECUTION)])
async def test_a_moment_has_come_when_the_database_says_so(scene: Scene, in_s: int, state: TaskState) -> None:
    worker, task = await a_look(scene)
    (at_s,) = await scene.sql("SELECT extract(epoch FROM now() + :in_s * interval '1 s')::float8", in_s=in_s)
    await look_in_vain(scene, worker, task, Again(1.0, at_s=at_s))
    assert await scene.states() == {1: state}
    if state is T.DELAY_EXECUTION:
        assert 3000 < await due_in_s(scene) <= 3600


@pytest.mark.parametrize("column", ["state", "requested_state"])
@pytest.mark.parametrize(("asked", "end"), [("READY_PAUSE", T.PAUSE), ("READY_STOP", T.KILL)])
async def test_it_obeys_what_was_asked_of_its_run(scene: Scene, column: str, asked: str, end: TaskState) -> None:
    worker, task = await a_look(scene)
    await scene.sql(f"UPDATE workflow_instance SET {column} = :asked", asked=asked)
    await look_in_vain(scene, worker, task)
    assert await scene.states() == {1: end}
    assert await scene.sql("SELECT state FROM task_event") == [end]


async def test_one_that_is_to_be_killed_or_has_no_run_ends(scene: Scene) -> None:
    worker, task = await a_look(scene)
    await scene.sql("UPDATE task_instance SET kill_requested = true")
    await look_in_vain(scene, worker, task)
    assert await scene.states() == {1: T.KILL}


async def test_who_no_longer_has_it_writes_nothing(scene: Scene) -> None:
    worker, task = await a_look(scene)
    other = await scene.worker()
    assert await look_in_vain(scene, other, task) == {}
    await look_in_vain(scene, worker, task)
    assert await look_in_vain(scene, worker, task) == {}, "the same look once more"
    assert await scene.sql("SELECT (looks ->> 'count')::int FROM task_instance") == [1]


async def test_a_lost_worker_costs_no_time_of_the_wait_and_does_not_make_it_suspect(scene: Scene) -> None:
    master, worker = await scene.master(), await scene.worker()
    await scene.queue(await scene.instance(master), 1, master=master, type_="WAIT")
    (task,) = await scene.claim(worker)
    await scene.sql("UPDATE task_instance SET queued_at = queued_at - interval '1 h'")
    await look_in_vain(scene, worker, task)
    await queued_again(scene)
    await scene.claim(worker)
    await scene.fence(worker)
    async with scene.writing() as connection:
        await lost_tasks.mark_lost(connection, 100)
    assert await scene.states() == {1: T.NEED_FAULT_TOLERANCE}
    worker = await scene.worker()
    await scene.queue(task.workflow_instance_id, 1, master=master, type_="WAIT", attempt=2)
    (task,) = await scene.claim(worker)
    await look_in_vain(scene, worker, task, Again(1.0, within_s=1800.0))
    assert await scene.states() == {1: T.FAILURE}


async def test_after_the_clock_was_set_back_it_looks_at_once(scene: Scene) -> None:
    worker, task = await a_look(scene)
    await look_in_vain(scene, worker, task)
    await scene.sql("UPDATE task_instance SET queued_at = now() + interval '1 h', due_at = now() + interval '2 h'")
    async with scene.writing() as connection:
        assert await task_timers.resume(connection, 100) == 1
    assert await due_in_s(scene) <= 0
