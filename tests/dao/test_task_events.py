"""`dao/task_events.py`: the end of an attempt reaches whoever owns the run, once, however often the owner changes."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy.ext.asyncio import AsyncConnection

from dao import task_events, workflow_instances
from dao.nodes import Me
from dao.task_events import Unreadable
from model.ids import TaskCode, WorkflowInstanceId
from model.instances import TaskEnd
from model.states import TaskState
from tests.dao.scene import Scene


async def told(scene: Scene, instance: WorkflowInstanceId, *codes: int) -> None:
    for code in codes:
        await scene.sql(
            "INSERT INTO task_event (workflow_instance_id, task_code, attempt, state) "
            "VALUES (:id, :code, 1, 'SUCCESS')",
            id=instance,
            code=code,
        )


async def ends(
    connection: AsyncConnection,
    master: Me,
    limit: int = 100,
    *,
    aside: Sequence[WorkflowInstanceId] = (),
    only: WorkflowInstanceId | None = None,
) -> list[TaskEnd]:
    events = await task_events.consume(connection, master.epoch, limit, aside=aside, only=only)
    return [event for event in events if isinstance(event, TaskEnd)]


async def consume(scene: Scene, master: Me, limit: int = 100) -> list[TaskEnd]:
    async with scene.writing() as connection:
        return await ends(connection, master, limit)


async def test_an_owner_hears_of_its_own_in_order_and_once(scene: Scene) -> None:
    master, other = await scene.master(), await scene.master()
    mine, theirs = await scene.instance(master), await scene.instance(other)
    await told(scene, mine, 3, 1)
    await told(scene, theirs, 7)
    await told(scene, mine, 2)
    assert [end.code for end in await consume(scene, master, 2)] == [3, 1]
    assert await consume(scene, master) == [TaskEnd(mine, TaskCode(2), 1, TaskState.SUCCESS)]
    assert await consume(scene, master) == []
    assert [end.code for end in await consume(scene, other)] == [7]


async def test_events_of_what_is_set_aside_are_left_and_read_for_it_alone(scene: Scene) -> None:
    master, other = await scene.master(), await scene.master()
    held, free, theirs = await scene.instance(master), await scene.instance(master), await scene.instance(other)
    await told(scene, held, 1, 2)
    await told(scene, free, 3)
    await told(scene, theirs, 4)
    async with scene.writing() as connection:
        assert [end.code for end in await ends(connection, master, aside=[held])] == [3]
        assert [end.code for end in await ends(connection, master, only=theirs)] == []
        assert [end.code for end in await ends(connection, master, only=held)] == [1, 2]


async def test_an_event_of_no_state_that_there_is_names_its_run(scene: Scene) -> None:
    master = await scene.master()
    run = await scene.instance(master)
    query = "INSERT INTO task_event (workflow_instance_id, task_code, attempt, state) VALUES (:run, :code, 1, 'DONE')"
    for code in (0, 1):
        await scene.sql(query, run=run, code=code)
    async with scene.writing() as connection:
        found = await task_events.consume(connection, master.epoch, 10)
    assert [(each.workflow_instance_id, type(each)) for each in found] == [(run, Unreadable)] * 2


async def test_events_wait_for_the_next_owner(scene: Scene) -> None:
    dead, heir = await scene.master(), await scene.master()
    instance = await scene.instance(dead)
    await scene.fence(dead)
    await told(scene, instance, 1)
    assert await consume(scene, heir) == []
    async with scene.writing() as connection:
        await workflow_instances.take_over(connection, [instance], heir.epoch)
    assert [end.code for end in await consume(scene, heir)] == [1]


async def test_an_owner_that_reads_the_rows_forgets_their_events(scene: Scene) -> None:
    master = await scene.master()
    read, other = await scene.instance(master), await scene.instance(master)
    await told(scene, read, 1, 2)
    await told(scene, other, 3)
    async with scene.writing() as connection:
        await task_events.forget(connection, [read])
    assert [end.code for end in await consume(scene, master)] == [3]


async def test_events_of_ended_runs_of_the_gone_are_dropped_and_no_others(scene: Scene) -> None:
    dead, living = await scene.master(), await scene.master()
    over, open_, theirs = await scene.instance(dead), await scene.instance(dead), await scene.instance(living)
    await scene.sql(
        "UPDATE workflow_instance SET state = 'SUCCESS', ended_at = now() WHERE id IN (:a, :b)", a=over, b=theirs
    )
    await scene.fence(dead)
    for instance in (over, open_, theirs):
        await told(scene, instance, 1)
    async with scene.writing() as connection:
        assert await task_events.drop_stale(connection) == 1
        assert await task_events.drop_stale(connection) == 0
    assert await scene.sql("SELECT workflow_instance_id FROM task_event ORDER BY id") == [open_, theirs]
