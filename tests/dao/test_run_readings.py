"""`dao/runs/run_readings.py`: all that explains a run is read at one moment, by statements for sets."""

from __future__ import annotations

import pytest

from dao.cluster.nodes import Me
from dao.postgres.database import Database
from dao.postgres.sql import Sql
from dao.runs import run_readings
from dao.runs.run_readings import RunReading
from model.cluster.nodes import NodeState
from model.errors import NotFound, Unavailable
from model.ids import TaskCode, WorkflowInstanceId
from model.runs.instances import Parent
from model.runs.states import TaskState
from tests.dao.scene import Scene
from tests.sent_statements import sent_statements

MISSING = WorkflowInstanceId(777)
COUNT = Sql("SELECT count(*) FROM command")


async def read(scene: Scene, run: WorkflowInstanceId) -> RunReading:
    async with scene.database.snapshot() as connection:
        return await run_readings.read(connection, run)


async def standing(scene: Scene, master: Me, *codes: int, parent: Parent | None = None) -> WorkflowInstanceId:
    """A run whose tasks stand for others."""
    run = await scene.instance(master, parent=parent)
    await scene.queue(run, *codes, master=master, type_="SUB_PROCESS", state=TaskState.RUNNING_EXECUTION)
    return run


async def rest(scene: Scene, run: WorkflowInstanceId, state: str) -> None:
    await scene.sql(
        "UPDATE workflow_instance SET state = :state, ended_at = now() WHERE id = :run", state=state, run=run
    )


async def test_all_statements_of_a_snapshot_see_one_moment(scene: Scene) -> None:
    async with scene.database.snapshot() as connection:
        before = (await connection.execute(COUNT)).scalar_one()
        await scene.commands(3)
        assert (await connection.execute(COUNT)).scalar_one() == before
    async with scene.database.reading() as connection:
        assert (await connection.execute(COUNT)).scalar_one() == before + 3


async def test_a_snapshot_writes_nothing_and_leaves_its_connection_as_it_was(database_url: str) -> None:
    database = Database(database_url, application_name="shoal-test", connections_max=1)
    with pytest.raises(Unavailable, match="read-only"):
        async with database.snapshot() as connection:
            await connection.execute(Sql("INSERT INTO command (type) VALUES ('PAUSE')"))
    async with database.writing() as connection:
        await connection.execute(Sql("INSERT INTO command (type) VALUES ('PAUSE')"))
    await database.close()


async def test_a_run_that_does_not_exist_is_not_found(scene: Scene) -> None:
    with pytest.raises(NotFound, match="there is no run 777"):
        await read(scene, MISSING)


async def test_the_runs_below_that_may_explain_it_are_read_too(scene: Scene) -> None:
    """Of each attempt that counts the first in each state; none below one that has succeeded."""
    master = await scene.master()
    top = await standing(scene, master, 1, 2)
    first, second, done = [
        await standing(scene, master, 1, parent=Parent(top, TaskCode(1), 1, index)) for index in range(3)
    ]
    failed = await standing(scene, master, 1, parent=Parent(top, TaskCode(2), 1, 0))
    lowest = await scene.instance(master, parent=Parent(first, TaskCode(1), 1, 0))
    await rest(scene, failed, "FAILURE")
    await rest(scene, done, "SUCCESS")
    reading = await read(scene, top)
    assert reading.attempts.keys() == {top, first, failed, lowest}
    assert [each.id for each in reading.children[top]] == [first, second, done, failed]
    assert [each.id for each in reading.children[first]] == [lowest]
    assert reading.runs.keys() == reading.attempts.keys()


async def test_above_a_run_at_rest_are_read_those_at_rest_and_the_next_one(scene: Scene) -> None:
    master = await scene.master()
    top = await standing(scene, master, 1)
    middle = await standing(scene, master, 1, parent=Parent(top, TaskCode(1), 1, 0))
    low = await standing(scene, master, 1, parent=Parent(middle, TaskCode(1), 1, 0))
    assert (await read(scene, low)).runs.keys() == {low}
    await rest(scene, low, "FAILURE")
    assert (await read(scene, low)).runs.keys() == {low, middle}
    await rest(scene, middle, "FAILURE")
    reading = await read(scene, low)
    assert (reading.runs.keys(), reading.attempts.keys()) == ({low, middle, top}, {low})


async def test_commands_for_a_run_and_for_its_children_are_read(scene: Scene) -> None:
    master = await scene.master()
    run = await standing(scene, master, 1)
    insert = (
        "INSERT INTO command (type, workflow_code, workflow_instance_id, parent) VALUES (:type, 1001, :run, :parent)"
    )
    resume = (await scene.sql(f"{insert} RETURNING id", type="RECOVER_SUSPENDED_PROCESS", run=run, parent=None))[0]
    child = (await scene.sql(f"{insert} RETURNING id", type="START_PROCESS", run=None, parent=f"{run}/1/1/0"))[0]
    await scene.sql(insert, type="START_PROCESS", run=None, parent=f"{run}/by hand")
    await scene.sql(insert, type="START_PROCESS", run=None, parent=f"{run + 1}/1/1/0")
    found = (await read(scene, run)).commands[run]
    assert [(each.id, each.parent) for each in found] == [(resume, None), (child, Parent(run, TaskCode(1), 1, 0))]
    assert all(each.age_s is not None and 0 <= each.age_s < 60 for each in found)


async def test_streams_are_before_all_else_in_the_queue_and_what_waits_for_pools_before_nobody(scene: Scene) -> None:
    master = await scene.master()
    run = await scene.instance(master)
    plain = {"resources": None, "stream": None}
    for code, needs in enumerate(
        (plain, {"resources": '{"a": 1}'}, {"stream": "{}"}, {"stream": "{}", "resources": '{"a": 1}'}, plain), 1
    ):
        await scene.queue(run, code, master=master, **{**plain, **needs})
    reading = await read(scene, run)
    places = {each.code: reading.places[each.id] for each in reading.attempts[run]}
    assert places == {3: 1, 1: 2, 5: 3, 2: 1, 4: 2}


async def test_places_in_the_queue_and_the_life_of_owners_and_workers_are_read(scene: Scene) -> None:
    master, worker = await scene.master(), await scene.worker()
    urgent, run = await scene.instance(master), await scene.instance(master)
    await scene.queue(run, 1, master=master)
    (running,) = await scene.claim(worker)
    await scene.queue(urgent, 1, master=master)
    await scene.queue(run, 2, master=master)
    await scene.fence(worker)
    reading = await read(scene, run)
    queued = next(each for each in reading.attempts[run] if each.state is TaskState.QUEUED)
    assert reading.places == {queued.id: 2}
    assert running.id not in reading.places
    assert reading.life == {master.epoch: NodeState.ALIVE, worker.epoch: NodeState.FENCED}
    assert [node.epoch for node in reading.living] == [master.epoch]
    assert [(each.worker_group, each.waiting) for each in reading.queue] == [("default", 2)]
    assert 0 <= reading.idle_s[run] < 60


async def test_the_number_of_statements_does_not_grow_with_the_tasks_and_children(scene: Scene) -> None:
    master, worker = await scene.master(), await scene.worker()

    async def count(width: int) -> int:
        """The number of statements for a run with so many children, each with a running and a queued task."""
        run = await standing(scene, master, *range(1, width + 1))
        for code in range(1, width + 1):
            child = await scene.instance(master, parent=Parent(run, TaskCode(code), 1, 0))
            await scene.queue(child, 1, master=master)
            await scene.claim(worker)
            await scene.queue(child, 2, master=master)
        with sent_statements() as sent:
            async with scene.database.snapshot() as connection:
                assert len((await run_readings.read(connection, run)).attempts) == width + 1
        return len(sent)

    assert await count(1) == await count(7)
