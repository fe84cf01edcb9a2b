"""`dao/run_lists/run_listings.py`: what people see is what there is."""

from __future__ import annotations

import pytest

from dao.cluster import node_listings, nodes
from dao.commands import queue_listings
from dao.run_lists import run_listings as listings
from dao.run_lists.wanted_runs import WantedRuns
from dao.tasks import task_claims
from dao.tasks.task_claims import Report
from model.choices import Priority
from model.cluster.nodes import Heartbeat
from model.errors import NotFound
from model.ids import WorkflowInstanceId
from model.runs.states import TaskState, WorkflowState
from tests.dao.scene import Scene


async def definition(scene: Scene, code: int, name: str) -> None:
    await scene.sql("INSERT INTO workflow_definition (code, name) VALUES (:code, :name)", code=code, name=name)


async def ended(scene: Scene, id_: WorkflowInstanceId, state: str, took: str) -> None:
    await scene.sql(
        "UPDATE workflow_instance SET state = :state, reason = 'so it is', "
        "ended_at = started_at + CAST(:took AS interval) WHERE id = :id",
        id=id_,
        state=state,
        took=took,
    )


async def test_commands_are_listed_in_the_order_in_which_they_will_be_taken(scene: Scene) -> None:
    await definition(scene, 1001, "hello")
    medium = await scene.commands(2, age="1 h")
    [high] = await scene.commands(1, priority="HIGH")
    [odd] = await scene.sql("INSERT INTO command (type, created_at) VALUES ('NONSENSE', '-infinity') RETURNING id")
    async with scene.database.reading() as connection:
        first, second, third, last = await queue_listings.waiting_commands(connection, 10)
        assert len(await queue_listings.waiting_commands(connection, 3)) == 3
    assert [each.id for each in (first, second, third, last)] == [high, *medium, odd]
    assert (first.type, first.workflow_code, first.workflow, first.priority) == ("START_PROCESS", 1001, "hello", "HIGH")
    assert second.age_s == pytest.approx(3600, abs=60)
    assert (last.workflow_code, last.workflow, last.age_s) == (None, None, None)


async def test_commands_are_counted_for_each_slot(scene: Scene) -> None:
    ids = await scene.commands(5, age="1 h")
    await scene.sql("INSERT INTO command (type, created_at) VALUES ('NONSENSE', 'infinity')")
    async with scene.database.reading() as connection:
        by_slot = await queue_listings.waiting_by_residue(connection, 3)
        lone = await queue_listings.waiting_by_residue(connection, 10_000)
    assert [each.slot for each in by_slot] == [0, 1, 2]
    assert [each.waiting for each in by_slot] == [
        sum(id_ % 3 == slot for id_ in (*ids, ids[-1] + 1)) for slot in (0, 1, 2)
    ]
    assert by_slot[0].oldest_s == pytest.approx(3600, abs=60)
    assert (sum(each.waiting for each in lone), lone[-1].oldest_s) == (6, None)


async def test_runs_are_listed_newest_first_by_pages_and_filters(scene: Scene) -> None:
    await definition(scene, 1001, "hello")
    master = await scene.master()
    ids = [await scene.instance(master, priority=Priority.LOW) for _ in range(5)]
    await ended(scene, ids[1], "SUCCESS", "90 s")
    await ended(scene, ids[2], "FAILURE", "0.5 s")
    await scene.sql("UPDATE workflow_instance SET workflow_code = 7 WHERE id = :id", id=ids[4])
    async with scene.database.reading() as connection:
        page = await listings.runs(connection, WantedRuns(2))
        rest = await listings.runs(connection, WantedRuns(10, before=page[-1].id))
        over = await listings.runs(connection, WantedRuns(10, states=[WorkflowState.SUCCESS, WorkflowState.FAILURE]))
        hello = await listings.runs(connection, WantedRuns(10, workflow="hello"))
        both = await listings.runs(connection, WantedRuns(10, workflow="hello", states=[WorkflowState.SUCCESS]))
    assert [run.id for run in (*page, *rest)] == list(reversed(ids))
    assert [run.id for run in over] == [ids[2], ids[1]]
    assert [run.id for run in hello] == [ids[3], ids[2], ids[1], ids[0]]
    assert [run.id for run in both] == [ids[1]]
    [success] = both
    assert (success.workflow, success.version, success.state) == ("hello", 1, WorkflowState.SUCCESS)
    assert (success.priority, success.reason, success.master) == (Priority.LOW, "so it is", master.address)
    await scene.sql("UPDATE node SET name = 'm1'")
    async with scene.database.reading() as connection:
        [named] = await listings.runs(connection, WantedRuns(1))
    assert named.master == "m1", "its name, if it has one"
    assert (success.took_s, over[0].took_s) == (90, 0.5)
    assert page[0].workflow is None, "its definition is not there"
    assert 0 <= page[0].took_s < 60


async def test_a_run_is_shown_with_all_attempts_of_its_tasks(scene: Scene) -> None:
    await definition(scene, 1001, "hello")
    master, worker = await scene.master(), await scene.worker()
    await scene.sql("UPDATE node SET log_url = 'http://10.0.0.2:9000' WHERE id = :id", id=worker.epoch)
    id_, other = await scene.instance(master), await scene.instance(master)
    await scene.queue(id_, 1, master=master)
    [task] = await scene.claim(worker)
    async with scene.writing() as connection:
        failure = Report(task.id, 1, TaskState.FAILURE, "exit code 3", 3, None)
        await task_claims.report(connection, [failure], worker.epoch)
    await scene.queue(id_, 1, attempt=2, worker_group="gpu", task_priority=Priority.HIGH, master=master)
    await scene.queue(other, 1, master=master)
    async with scene.database.reading() as connection:
        run, (first, second) = await listings.run(connection, id_)
        with pytest.raises(NotFound, match="there is no run 777"):
            await listings.run(connection, WorkflowInstanceId(777))
    assert (run.id, run.workflow, run.state) == (id_, "hello", WorkflowState.RUNNING_EXECUTION)
    assert (first.code, first.attempt, first.name, first.type, first.state) == (1, 1, "task 1", "FAKE", "FAILURE")
    assert (first.exit_code, first.reason, first.worker) == (3, "exit code 3", worker.epoch)
    assert (first.worker_address, first.log_url) == (worker.address, "http://10.0.0.2:9000")
    assert first.log_day == task.day
    assert first.started_at is not None
    assert first.ended_at is not None
    assert first.queued_at <= first.started_at <= first.ended_at
    assert first.took_s == (first.ended_at - first.started_at).total_seconds()
    assert (second.attempt, second.state, second.worker_group) == (2, TaskState.QUEUED, "gpu")
    assert (second.priority, second.worker, second.log_url, second.took_s) == (Priority.HIGH, None, None, None)


async def test_the_queue_is_counted_by_worker_group(scene: Scene) -> None:
    master, worker = await scene.master(), await scene.worker()
    instance = await scene.instance(master)
    await scene.queue(instance, 1, 2, worker_group="cpu", master=master)
    await scene.claim(worker, groups=["cpu"])
    await scene.queue(instance, 3, 4, 5, master=master)
    await scene.queue(instance, 6, write_ahead=False, master=master)
    await scene.claim(worker, limit=1)
    await scene.queue(instance, 7, worker_group="gpu", master=master)
    await scene.sql("UPDATE task_instance SET queued_at = now() - interval '1 h' WHERE task_code = 4")
    async with scene.database.reading() as connection:
        cpu, default, gpu = await queue_listings.queue_by_group(connection)
    assert (cpu.worker_group, cpu.waiting, cpu.oldest_s, cpu.running) == ("cpu", 0, None, 2)
    assert (default.worker_group, default.waiting, default.running) == ("default", 3, 1)
    assert default.oldest_s == pytest.approx(3600, abs=60)
    assert (gpu.worker_group, gpu.waiting, gpu.running) == ("gpu", 1, 0)


async def test_masters_and_workers_are_listed_apart_and_the_fenced_beside_them(scene: Scene) -> None:
    master, worker, *dead = await scene.master(), await scene.worker(), await scene.master(), await scene.worker()
    heartbeat = Heartbeat(
        epoch=worker.epoch, kind=worker.kind, address=worker.address, running=2, capacity=8, groups=("default", "gpu")
    )
    async with scene.writing() as connection:
        await nodes.beat(connection, worker, 0, unanswered=0, heartbeat=heartbeat)
    for each in dead:
        await scene.fence(each)
    async with scene.database.reading() as connection:
        masters, workers = await node_listings.masters(connection), await node_listings.workers(connection)
        fenced = await node_listings.last_fenced(connection, 10)
        assert len(await node_listings.last_fenced(connection, 1)) == 1
    assert [each.epoch for each in masters] == [master.epoch]
    assert [(each.epoch, each.heartbeat) for each in workers] == [(worker.epoch, heartbeat)]
    assert 0 <= workers[0].beat_age_s < 60
    assert [each.epoch for each in fenced] == [dead[1].epoch, dead[0].epoch]
    assert (fenced[0].kind, fenced[0].address, fenced[0].why) == (worker.kind, worker.address, "a test")
    assert fenced[0].started_at <= fenced[0].fenced_at
