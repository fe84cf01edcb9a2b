"""`dao/tasks/task_progress.py`: only the worker of an attempt writes its progress, while it runs."""

from __future__ import annotations

from dao.cluster.nodes import Me
from dao.tasks import task_claims, task_progress
from dao.tasks.task_claims import ClaimedTask, Report
from dao.tasks.task_progress import Reported
from model.runs.states import TaskState
from tests.dao.scene import Scene


async def record(scene: Scene, worker: Me, task: ClaimedTask, done: float, *, attempt: int = 1) -> None:
    async with scene.writing() as connection:
        await task_progress.record(connection, [Reported(task.id, attempt, done, None, "x")], worker.epoch)


async def test_only_the_worker_of_a_running_attempt_writes_its_progress(scene: Scene) -> None:
    master, worker, other = await scene.master(), await scene.worker(), await scene.worker()
    await scene.queue(await scene.instance(master), 1, master=master)
    (task,) = await scene.claim(worker)
    done = "SELECT progress_done FROM task_instance"
    await record(scene, other, task, 1)
    await record(scene, worker, task, 2, attempt=2)
    assert await scene.sql(done) == [None]
    await record(scene, worker, task, 3)
    assert await scene.sql(done) == [3]
    async with scene.writing() as connection:
        end = Report(task.id, 1, TaskState.SUCCESS, "", 0, None)
        assert await task_claims.report(connection, [end], worker.epoch) == {task.id: master.epoch}
    await record(scene, worker, task, 4)
    assert await scene.sql(done) == [3]
