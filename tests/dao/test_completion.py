"""`dao/runs/after_end.py`: who waits for the end of a run hears of it in the transaction that ends it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from dao.cluster.nodes import Me
from dao.postgres.sql import Sql
from dao.runs import after_end, children, control, workflow_instances
from dao.runs.control import Revival
from dao.runs.workflow_instances import InstanceEnd
from dao.tasks import task_events
from model.choices import ExecutionType, WarningType
from model.ids import TaskCode, WorkflowInstanceId
from model.runs.instances import ChildState, Parent
from model.runs.states import WorkflowState
from tests.dao.scene import Scene

W = WorkflowState


async def end(
    scene: Scene, *ids: WorkflowInstanceId, master: Me, state: WorkflowState = W.SUCCESS
) -> list[WorkflowInstanceId]:
    """End these and tell; those that somebody waits for."""
    async with scene.writing() as connection:
        awaited = await workflow_instances.finish(
            connection, [InstanceEnd(id_, state, "so it is", '{"rows": "7"}') for id_ in ids], master.epoch
        )
        await after_end.notify_awaiting(connection, awaited)
    return awaited


async def commands(scene: Scene, *columns: str) -> list[Any]:
    return await scene.sql(f"SELECT {', '.join(columns)} FROM command ORDER BY id")


async def test_nobody_waits_for_an_ordinary_run(scene: Scene) -> None:
    master = await scene.master()
    ids = [await scene.instance(master) for _ in range(3)]
    assert await end(scene, *ids, master=master) == []
    assert await scene.sql("SELECT (SELECT count(*) FROM command), (SELECT count(*) FROM task_event)") == [(0, 0)]


@pytest.mark.parametrize("is_whole", [False, True])
async def test_a_rerun_of_some_tasks_that_left_others_to_do_does_not_go_on_with_the_next_date(
    scene: Scene, is_whole: bool
) -> None:
    master = await scene.master()
    id_ = await scene.instance(master, backfill='{"backfill": {"dates": ["2026-01-02T00:00:00Z"]}}')
    await scene.sql("UPDATE workflow_instance SET executing = '[1]'")
    async with scene.writing() as connection:
        ended = InstanceEnd(id_, W.SUCCESS, "", is_whole=is_whole)
        await after_end.notify_awaiting(connection, await workflow_instances.finish(connection, [ended], master.epoch))
    assert await commands(scene, "type") == ["COMPLEMENT_DATA"] * is_whole
    assert await scene.sql("SELECT executing FROM workflow_instance") == [None if is_whole else "[1]"]


async def test_no_event_is_written_for_a_parent_that_was_deleted(scene: Scene) -> None:
    master = await scene.master()
    above = await scene.instance(master)
    child = await scene.instance(master, parent=Parent(above, TaskCode(1), 1, 0))
    await scene.sql("DELETE FROM workflow_instance WHERE id = :id", id=above)
    assert await end(scene, child, master=master) == [child]
    async with scene.writing() as connection:
        await children.report_at_rest(connection, {child: "so it is"})
    assert await scene.sql("SELECT count(*) FROM task_event") == [0]


async def test_an_ordinary_end_wakes_no_master(scene: Scene) -> None:
    """An INSERT into `command` notifies all, even one of no rows."""
    master = await scene.master()
    id_ = await scene.instance(master)
    async with scene.database.reading() as connection:
        await connection.execute(Sql("LISTEN shoal_command"))
        await end(scene, id_, master=master)
        driver = connection.driver
        heard = [notification.payload async for notification in driver.notifies(timeout=0.2)]
        await connection.execute(Sql("UNLISTEN *"))
    assert heard == []


@pytest.mark.parametrize(("state", "told"), [(W.SUCCESS, '{"rows": "7"}'), (W.FAILURE, "so it is")])
async def test_the_owner_of_the_instance_above_hears_of_the_end_and_what_it_gave_or_why_it_failed(
    scene: Scene, state: WorkflowState, told: str
) -> None:
    owner, master = await scene.master(), await scene.master()
    above = await scene.instance(owner)
    child = await scene.instance(master, parent=Parent(above, TaskCode(3), 2, 5))
    assert await end(scene, child, master=master, state=state) == [child]
    async with scene.writing() as connection:
        heard = await task_events.consume(connection, owner.epoch, 10)
    assert [event[:2] for event in heard] == [(above, ChildState(TaskCode(3), 2, 5, state, told))]
    assert await commands(scene, "type") == []


async def test_a_run_above_does_not_hear_why_a_child_of_another_project_failed(scene: Scene) -> None:
    """The reason names what who sees the run above may not see."""
    master = await scene.master()
    await scene.sql(
        "INSERT INTO workflow_definition (code, name, project) VALUES (1001, 'w', 'etl'), (1002, 'w', 'bi')"
    )
    above = await scene.instance(master)
    children = {
        code: await scene.instance(master, code=code, parent=Parent(above, TaskCode(3), 1, place))
        for place, code in enumerate((1001, 1002))
    }
    await end(scene, *children.values(), master=master, state=W.FAILURE)
    async with scene.writing() as connection:
        heard = await task_events.consume(connection, master.epoch, 10)
    assert [event[1].outputs for event in sorted(heard, key=lambda event: event[1].index)] == ["so it is", None]


@pytest.mark.parametrize("execution_type", [each for each in ExecutionType if each is not ExecutionType.PARALLEL])
async def test_the_line_of_a_serial_workflow_is_woken_once_for_all_that_end(
    scene: Scene, execution_type: ExecutionType
) -> None:
    master = await scene.master()
    ids = [
        await scene.instance(master, code=code, execution_type=execution_type, serial_key=key)
        for code, key in ((1, ""), (1, ""), (2, ""), (2, 'a "key"'), (2, 'a "key"'), (2, "other"))
    ]
    await end(scene, *ids, master=master, state=W.FAILURE)
    assert sorted(await commands(scene, "type", "workflow_code", "params", "created_by")) == [
        ("RECOVER_SERIAL_WAIT", 1, "{}", "serial"),
        ("RECOVER_SERIAL_WAIT", 2, '{"serial_key" : "a \\"key\\""}', "serial"),
        ("RECOVER_SERIAL_WAIT", 2, '{"serial_key" : "other"}', "serial"),
        ("RECOVER_SERIAL_WAIT", 2, "{}", "serial"),
    ]


async def test_the_next_date_of_a_backfill_is_asked_for_as_this_one_was(scene: Scene) -> None:
    master = await scene.master()
    backfill = json.dumps({"backfill": {"dates": ["2026-01-02"]}, "day": "x"})
    await end(
        scene,
        await scene.instance(
            master,
            backfill=backfill,
            scope="[1, 2]",
            environment="etl",
            dry_run=True,
            warning_type=WarningType.ALL,
            alert_group="ops",
            time_zone="Europe/Berlin",
        ),
        await scene.instance(master, backfill=backfill),
        master=master,
    )
    [limited, whole] = await commands(
        scene,
        *("type", "workflow_code", "workflow_version", "params", "priority", "failure_strategy", "worker_group"),
        *("environment", "dry_run", "warning_type", "alert_group", "time_zone", "start_tasks", "task_depend_type"),
    )
    same = ("COMPLEMENT_DATA", 1001, 1, backfill, "MEDIUM", "CONTINUE", "default")
    assert limited == (*same, "etl", True, "ALL", "ops", "Europe/Berlin", "[1, 2]", "TASK_ONLY")
    assert whole == (*same, None, False, "NONE", None, "UTC", None, None)


@pytest.mark.parametrize("state", [W.FAILURE, W.STOP])
async def test_a_date_that_did_not_succeed_stops_the_chain(scene: Scene, state: WorkflowState) -> None:
    master = await scene.master()
    id_ = await scene.instance(master, backfill="{}")
    if state is W.STOP:
        async with scene.writing() as connection:
            await workflow_instances.enter(connection, {id_: W.READY_STOP}, master.epoch)
    await end(scene, id_, master=master, state=state)
    assert await commands(scene, "type") == []


async def test_a_date_that_is_run_again_does_not_fill_those_after_it_again(scene: Scene) -> None:
    master = await scene.master()
    id_ = await scene.instance(master, backfill="{}")
    for _ in range(2):
        await end(scene, id_, master=master)
        async with scene.writing() as connection:
            await control.revive(connection, [Revival(id_, repeats=True)], master.epoch)
    assert await commands(scene, "type") == ["COMPLEMENT_DATA"]


async def test_a_run_that_was_all_of_it_tells_all(scene: Scene) -> None:
    master = await scene.master()
    above = await scene.instance(master)
    child = await scene.instance(
        master, parent=Parent(above, TaskCode(1), 1, 0), execution_type=ExecutionType.SERIAL_WAIT, backfill="{}"
    )
    await end(scene, child, master=master)
    assert await commands(scene, "type") == ["RECOVER_SERIAL_WAIT", "COMPLEMENT_DATA"]
    assert await scene.sql("SELECT workflow_instance_id FROM task_event") == [above]
