"""`dao/tasks/task_events.py`: the end of an attempt reaches whoever owns the run, once."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from dao.cluster.nodes import Me
from dao.commands import waiting_work
from dao.postgres.pool import AsyncConnection
from dao.postgres.sql import Sql
from dao.runs import failover
from dao.tasks import task_events
from dao.tasks.task_events import Unreadable
from model.ids import TaskCode, WorkflowInstanceId
from model.runs.instances import AttemptEnd
from model.runs.states import TaskState
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
    without: Sequence[WorkflowInstanceId] = (),
    only: WorkflowInstanceId | None = None,
) -> list[AttemptEnd]:
    events = await task_events.consume(connection, master.epoch, limit, without=without, only=only)
    return [event.what for event in events if isinstance(event.what, AttemptEnd)]


async def consume(scene: Scene, master: Me, limit: int = 100) -> list[AttemptEnd]:
    async with scene.writing() as connection:
        return await ends(connection, master, limit)


async def test_an_owner_hears_of_its_own_in_order_and_once(scene: Scene) -> None:
    master, other = await scene.master(), await scene.master()
    mine, theirs = await scene.instance(master), await scene.instance(other)
    await told(scene, mine, 3, 1)
    await told(scene, theirs, 7)
    await told(scene, mine, 2)
    assert [end.code for end in await consume(scene, master, 2)] == [3, 1]
    assert await consume(scene, master) == [AttemptEnd(TaskCode(2), 1, TaskState.SUCCESS)]
    assert await consume(scene, master) == []
    assert [end.code for end in await consume(scene, other)] == [7]


async def test_events_of_what_is_put_in_quarantine_are_left_and_read_for_it_alone(scene: Scene) -> None:
    master, other = await scene.master(), await scene.master()
    held, free, theirs = await scene.instance(master), await scene.instance(master), await scene.instance(other)
    await told(scene, held, 1, 2)
    await told(scene, free, 3)
    await told(scene, theirs, 4)
    async with scene.writing() as connection:
        assert [end.code for end in await ends(connection, master, without=[held])] == [3]
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
    assert [(each.run, type(each.what)) for each in found] == [(run, Unreadable)] * 2


async def test_events_wait_for_the_next_owner(scene: Scene) -> None:
    dead, heir = await scene.master(), await scene.master()
    instance = await scene.instance(dead)
    await scene.fence(dead)
    await told(scene, instance, 1)
    assert await consume(scene, heir) == []
    async with scene.writing() as connection:
        await failover.claim_failover(connection, [instance], heir.epoch)
        await task_events.readdress(connection)
    assert [end.code for end in await consume(scene, heir)] == [1]


async def test_an_owner_that_reads_the_rows_forgets_their_events(scene: Scene) -> None:
    master = await scene.master()
    read, other = await scene.instance(master), await scene.instance(master)
    await told(scene, read, 1, 2)
    await told(scene, other, 3)
    async with scene.writing() as connection:
        await task_events.delete_of(connection, [read])
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


async def owners(scene: Scene) -> list[int]:
    return await scene.sql("SELECT owner FROM task_event ORDER BY id")


async def test_whoever_writes_an_event_has_it_addressed_to_the_owner_of_its_run(scene: Scene) -> None:
    master = await scene.master()
    await told(scene, await scene.instance(master), 1)
    await told(scene, WorkflowInstanceId(4711), 1)
    assert await owners(scene) == [master.epoch, 0]


async def test_an_end_that_was_told_to_the_former_owner_of_a_run_reaches_the_new_one(scene: Scene) -> None:
    """Who told it had looked just before the failover, and committed just after it."""
    former, new = await scene.master(), await scene.master()
    run = await scene.instance(former)
    await scene.fence(former)
    async with scene.writing() as connection:
        await failover.fail_over(connection, 10)
        await failover.claim_failover(connection, [run], new.epoch)
    await scene.sql(
        "INSERT INTO task_event (workflow_instance_id, task_code, attempt, state, owner) "
        "VALUES (:run, 1, 1, 'SUCCESS', :owner)",
        run=run,
        owner=former.epoch,
    )
    assert await consume(scene, new) == []
    async with scene.database.reading() as connection:
        waiting = await waiting_work.work_waits(connection, None, timedelta(days=1), 1, new.epoch)
    assert (waiting.events, waiting.stray_events) == (None, True)
    async with scene.writing() as connection:
        assert await task_events.drop_stale(connection) == 0
        assert await task_events.readdress(connection) == 1
        assert await task_events.readdress(connection) == 0
    assert [end.code for end in await consume(scene, new)] == [1]


async def test_what_is_addressed_to_one_that_lives_and_does_not_own_the_run_is_passed_on(scene: Scene) -> None:
    master, other = await scene.master(), await scene.master()
    run = await scene.instance(other)
    await told(scene, run, 1)
    await scene.sql("UPDATE task_event SET owner = :owner", owner=master.epoch)
    assert await consume(scene, master) == []
    assert await owners(scene) == [other.epoch]
    assert [end.code for end in await consume(scene, other)] == [1]


async def test_what_waits_for_a_failover_is_left_alone(scene: Scene) -> None:
    former = await scene.master()
    await told(scene, await scene.instance(former), 1)
    await scene.fence(former)
    async with scene.writing() as connection:
        assert await task_events.readdress(connection) == 0
        assert await task_events.drop_stale(connection) == 0


async def test_an_event_that_a_stranger_holds_keeps_nobody_from_the_others(scene: Scene) -> None:
    master = await scene.master()
    run = await scene.instance(master)
    await told(scene, run, 1, 2, 3)
    async with scene.database.writing() as stranger:
        await stranger.execute(Sql("SELECT FROM task_event WHERE task_code = 2 FOR UPDATE"))
        assert [end.code for end in await consume(scene, master)] == [1, 3]
    assert [end.code for end in await consume(scene, master)] == [2]
