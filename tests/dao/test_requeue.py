"""`dao/tasks/requeue.py`: what comes back to the queue obeys what was asked of its run."""

from __future__ import annotations

import asyncio

import pytest

from dao.cluster.nodes import Me
from dao.runs import workflow_instances
from dao.tasks import lost_tasks, task_instances, task_timers
from model.ids import WorkflowInstanceId
from model.runs.states import TaskState, WaitReason, WorkflowState
from tests.dao.scene import Scene

T, W = TaskState, WorkflowState
ENDS = {"READY_PAUSE": "PAUSE", "READY_STOP": "KILL"}


async def lost_in_dispatch(scene: Scene, master: Me) -> WorkflowInstanceId:
    """A run with a task that its worker had claimed and not started when it died."""
    worker = await scene.worker()
    run = await scene.instance(master)
    await scene.queue(run, 1, write_ahead=False, master=master)
    await scene.claim(worker)
    await scene.fence(worker)
    return run


async def due(scene: Scene, master: Me) -> WorkflowInstanceId:
    """A run with a task whose wait is over."""
    run = await scene.instance(master)
    await scene.queue(run, 1, wait_reason=WaitReason.RETRY, master=master)
    return run


async def bring_back(scene: Scene) -> None:
    async with scene.writing() as connection:
        await lost_tasks.mark_lost(connection, 100)
        await task_timers.queue_due(connection, 100)


WAYS = {"a lost worker": lost_in_dispatch, "a wait that is over": due}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("column", ["state", "requested_state"])
@pytest.mark.parametrize("asked", ENDS)
async def test_what_comes_back_to_the_queue_obeys_what_was_asked_of_its_run(
    scene: Scene, way: str, column: str, asked: str
) -> None:
    run = await WAYS[way](scene, await scene.master())
    await scene.sql(f"UPDATE workflow_instance SET {column} = :asked", asked=asked)
    await bring_back(scene)
    assert await scene.states() == {1: ENDS[asked]}
    told = await scene.sql("SELECT workflow_instance_id, task_code, attempt, state FROM task_event")
    assert told == [(run, 1, 1, ENDS[asked])], "its master hears of it"
    assert await scene.sql("SELECT worker_id FROM task_instance") == [None]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("state", ["RUNNING_EXECUTION", "FAILOVER"])
async def test_what_comes_back_to_a_run_that_goes_on_is_queued_and_told_to_nobody(
    scene: Scene, way: str, state: str
) -> None:
    await WAYS[way](scene, await scene.master())
    await scene.sql("UPDATE workflow_instance SET state = :state", state=state)
    await bring_back(scene)
    assert await scene.states() == {1: "QUEUED"}
    assert await scene.sql("SELECT count(*) FROM task_event") == [0]


@pytest.mark.parametrize("way", WAYS)
async def test_what_has_no_run_any_more_is_ended_and_not_found_again(scene: Scene, way: str) -> None:
    await WAYS[way](scene, await scene.master())
    await scene.sql("DELETE FROM workflow_instance")
    await bring_back(scene)
    assert await scene.states() == {1: "KILL"}


@pytest.mark.parametrize("way", WAYS)
async def test_a_pause_that_waits_for_what_comes_back_holds_it_back(scene: Scene, way: str) -> None:
    """The pause looks while the task has been queued again and that is not committed: it must wait, and then see it."""
    master = await scene.master()
    run = await WAYS[way](scene, master)

    async def pause() -> list[int]:
        async with scene.writing() as connection:
            await workflow_instances.enter(connection, {run: W.READY_PAUSE}, master.epoch)
            ends = await task_instances.halt(connection, {run: (T.PAUSE, "it was held back")}, set(), master.epoch)
            return [end.code for _, end in ends]

    async with scene.writing() as connection:
        await lost_tasks.mark_lost(connection, 100)
        await task_timers.queue_due(connection, 100)
        pausing = asyncio.create_task(pause())
        await scene.waits_for_a_lock()
    assert await pausing == [1]
    assert await scene.states() == {1: "PAUSE"}


async def test_what_was_to_be_killed_and_never_began_is_killed(scene: Scene) -> None:
    """Not lost: then it would count as a failure of a run that somebody stopped."""
    master = await scene.master()
    await lost_in_dispatch(scene, master)
    await scene.sql("UPDATE task_instance SET kill_requested = true")
    await bring_back(scene)
    assert await scene.states() == {1: "KILL"}
    assert await scene.sql("SELECT state FROM task_event") == ["KILL"]


async def test_a_lost_task_that_ran_is_lost_whatever_was_asked(scene: Scene) -> None:
    master, worker = await scene.master(), await scene.worker()
    run = await scene.instance(master)
    await scene.queue(run, 1, master=master)
    await scene.claim(worker)
    await scene.sql("UPDATE workflow_instance SET state = 'READY_PAUSE'")
    await scene.fence(worker)
    await bring_back(scene)
    assert await scene.states() == {1: "NEED_FAULT_TOLERANCE"}
