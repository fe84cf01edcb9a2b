"""`dao/checks/stuck_runs.py`: what counts as a reason to wait, and that a run without any is found."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

import pytest

from dao.checks import stuck_runs
from dao.checks.stuck_runs import HALT_UNREPORTED, NO_CHILD, NO_TIME, NOTHING_UNDER_WAY, UnderWay, Walked
from dao.cluster.nodes import Me
from dao.runs import control
from dao.tasks import task_claims
from dao.tasks.task_claims import Report
from model.ids import TaskCode, WorkflowInstanceId
from model.runs.instances import Parent
from model.runs.states import TaskState, WaitReason, WorkflowState
from tests.dao.scene import NOBODY, Scene

AT_ONCE = timedelta(0)
START = WorkflowInstanceId(0)


@pytest.fixture
async def master(scene: Scene) -> Me:
    """A living master."""
    return await scene.master()


async def walk(scene: Scene, master: Me, limit: int = 100, older_than: timedelta = AT_ONCE) -> Walked:
    async with scene.database.reading() as connection:
        return await stuck_runs.walk(connection, master.epoch, START, limit, older_than)


async def missing(scene: Scene, master: Me) -> dict[int, str]:
    """What is missing to each stuck run of a master; `shoal doctor` must see the same."""
    found = {each.id: each.missing for each in (await walk(scene, master)).stuck}
    async with scene.database.reading() as connection:
        seen_by_all = {each.id: each.missing for each in await stuck_runs.stuck(connection, AT_ONCE)}
    assert found.items() <= seen_by_all.items()
    return dict(found)


async def standing(scene: Scene, master: Me, code: int = 1, type_: str = "SUB_PROCESS") -> WorkflowInstanceId:
    """A run whose only task stands for others, or waits in its master."""
    run = await scene.instance(master)
    await scene.queue(run, code, master=master, type_=type_, state=TaskState.RUNNING_EXECUTION)
    return run


async def child(scene: Scene, master: Me, parent: WorkflowInstanceId) -> WorkflowInstanceId:
    """A child of its first task that has something queued."""
    run = await scene.instance(master, parent=Parent(parent, TaskCode(1), 1, 0))
    await scene.queue(run, 1, master=master)
    return run


async def ended(scene: Scene, run: WorkflowInstanceId, state: str) -> None:
    await scene.sql("UPDATE task_instance SET state = 'KILL', ended_at = now() WHERE workflow_instance_id = :r", r=run)
    for each in ("READY_PAUSE", state) if state == "PAUSE" else (state,):
        await scene.sql(
            "UPDATE workflow_instance SET state = :state, ended_at = CASE WHEN :over THEN now() END WHERE id = :run",
            state=each, over=each == state, run=run,
        )  # fmt: skip


# ---------------------------------------------------------------------------------------------- reasons to wait


async def test_what_is_queued_runs_or_waits_for_a_time_is_a_reason(scene: Scene, master: Me) -> None:
    worker = await scene.worker()
    running, dispatched, queued, delayed = [await scene.instance(master) for _ in range(4)]
    await scene.queue(running, 1, master=master)
    await scene.queue(dispatched, 1, master=master, write_ahead=False)
    await scene.claim(worker)
    await scene.queue(queued, 1, master=master)
    await scene.queue(delayed, 1, master=master, wait_reason=WaitReason.DELAY, due_in_minutes=60)
    states = await scene.sql("SELECT state FROM task_instance ORDER BY id")
    assert states == ["RUNNING_EXECUTION", "DISPATCH", "QUEUED", "DELAY_EXECUTION"]
    assert await missing(scene, master) == {}


async def test_an_event_on_its_way_is_a_reason_until_it_is_lost(scene: Scene, master: Me) -> None:
    worker, run = await scene.worker(), await scene.instance(master)
    await scene.queue(run, 1, master=master)
    (task,) = await scene.claim(worker)
    async with scene.writing() as connection:
        done = Report(task.id, 1, TaskState.SUCCESS, "", 0, None)
        await task_claims.report(connection, [done], worker.epoch)
    assert await missing(scene, master) == {}
    await scene.sql("DELETE FROM task_event")
    assert await missing(scene, master) == {run: NOTHING_UNDER_WAY}


async def test_a_task_that_waits_for_others_in_its_master_is_a_reason(scene: Scene, master: Me) -> None:
    await standing(scene, master, type_="DEPENDENT")
    assert await missing(scene, master) == {}


async def test_a_child_is_a_reason_as_long_as_it_has_not_ended(scene: Scene, master: Me) -> None:
    parent = await standing(scene, master)
    below = await child(scene, master, parent)
    assert await missing(scene, master) == {}
    await ended(scene, below, "SUCCESS")
    assert await missing(scene, master) == {parent: NO_CHILD}


async def test_a_child_that_rests_is_a_reason_unless_its_parent_is_to_halt(scene: Scene, master: Me) -> None:
    """It goes on when somebody lets it; but a task that is to end has ended when its children rest."""
    parent = await standing(scene, master)
    await ended(scene, await child(scene, master, parent), "PAUSE")
    assert await missing(scene, master) == {}
    await scene.sql("UPDATE workflow_instance SET state = 'READY_PAUSE' WHERE id = :run", run=parent)
    assert await missing(scene, master) == {parent: NO_CHILD}


async def test_a_child_that_rests_is_none_for_a_task_that_is_to_be_killed(scene: Scene, master: Me) -> None:
    parent = await standing(scene, master)
    await ended(scene, await child(scene, master, parent), "PAUSE")
    await scene.sql("UPDATE task_instance SET kill_requested = true WHERE workflow_instance_id = :run", run=parent)
    assert await missing(scene, master) == {parent: NO_CHILD}


@pytest.mark.parametrize(
    ("asked", "is_reason"),
    [("/1/1/0", True), ("/1/1/12", True), ("/1/2/0", False), ("/2/1/0", False), ("9/1/1/0", False)],
)
async def test_a_child_that_is_asked_for_is_a_reason(scene: Scene, master: Me, asked: str, is_reason: bool) -> None:
    parent = await standing(scene, master)
    await scene.sql("INSERT INTO command (type, parent) VALUES ('START_PROCESS', 'by hand')")
    await scene.sql("INSERT INTO command (type, parent) VALUES ('START_PROCESS', :parent)", parent=f"{parent}{asked}")
    assert await missing(scene, master) == ({} if is_reason else {parent: NO_CHILD})


async def test_a_child_that_is_asked_to_go_on_is_a_reason(scene: Scene, master: Me) -> None:
    parent = await standing(scene, master)
    below = await child(scene, master, parent)
    await ended(scene, below, "FAILURE")
    assert await missing(scene, master) == {parent: NO_CHILD}
    await scene.sql(
        "INSERT INTO command (type, workflow_instance_id) VALUES ('START_FAILURE_TASK_PROCESS', :id)", id=below
    )
    assert await missing(scene, master) == {}


# ---------------------------------------------------------------------------------------------------- without one


async def test_a_run_of_which_nothing_was_ever_queued_is_found(scene: Scene, master: Me) -> None:
    run = await scene.instance(master)
    assert await missing(scene, master) == {run: NOTHING_UNDER_WAY}


async def test_a_wait_without_a_time_is_none_until_it_is_made_due(scene: Scene, master: Me) -> None:
    run, others = await scene.instance(master), await scene.instance(await scene.master())
    for each in (run, others):
        owner = (await scene.sql("SELECT master_id FROM workflow_instance WHERE id = :id", id=each))[0]
        await scene.sql(
            "INSERT INTO task_instance (workflow_instance_id, task_code, task_name, task_type, state, worker_group, "
            "workflow_priority, task_priority) "
            "VALUES (:id, 1, 'a', 'FAKE', 'DELAY_EXECUTION', 'default', 'MEDIUM', 'MEDIUM')",
            id=each,
        )
        assert owner
    assert await missing(scene, master) == {run: NO_TIME}
    async with scene.writing() as connection:
        assert await stuck_runs.end_timeless_waits(connection, [run, others], master.epoch) == 1
    assert await missing(scene, master) == {}


async def test_a_halt_of_which_the_owner_was_never_told_is_found_though_tasks_run(scene: Scene, master: Me) -> None:
    run = await scene.instance(master)
    await scene.queue(run, 1, master=master)
    async with scene.writing() as connection:
        await control.ask_halt(connection, {run: WorkflowState.READY_STOP})
    assert await missing(scene, master) == {}
    await scene.sql("DELETE FROM task_event")
    assert await missing(scene, master) == {run: HALT_UNREPORTED}
    await scene.sql("UPDATE workflow_instance SET state = 'READY_STOP' WHERE id = :run", run=run)
    assert await missing(scene, master) == {}


async def test_what_waits_for_its_turn_or_has_ended_is_not_asked(scene: Scene, master: Me) -> None:
    await ended(scene, await scene.instance(master), "SUCCESS")
    await scene.instance(master, state=WorkflowState.SERIAL_WAIT)
    assert await walk(scene, master) == Walked([], [])


async def test_what_changed_just_now_is_left_alone(scene: Scene, master: Me) -> None:
    run = await scene.instance(master)
    assert not (await walk(scene, master, older_than=timedelta(minutes=1))).stuck
    await scene.sql("UPDATE workflow_instance SET started_at = now() - interval '1 hour'")
    (found,) = (await walk(scene, master, older_than=timedelta(minutes=1))).stuck
    assert (found.id, found.state, found.owner) == (run, WorkflowState.RUNNING_EXECUTION, master.epoch)
    assert 3_600 <= found.idle_s < 3_700
    parent = await standing(scene, master)
    await ended(scene, await child(scene, master, parent), "SUCCESS")
    await scene.sql("UPDATE workflow_instance SET started_at = now() - interval '1 hour'")
    await scene.sql("UPDATE task_instance SET queued_at = '2020-01-01', started_at = '2020-01-01'")
    assert parent not in {each.id for each in (await walk(scene, master, older_than=timedelta(minutes=1))).stuck}


# ------------------------------------------------------------------------------------------------------ whose they are


async def test_a_walk_goes_by_stretches_over_one_s_own(scene: Scene, master: Me) -> None:
    mine = [await scene.instance(master) for _ in range(5)]
    theirs = await scene.instance(await scene.master())
    assert (await walk(scene, master, limit=3)).ids == mine[:3]
    async with scene.database.reading() as connection:
        rest = await stuck_runs.walk(connection, master.epoch, mine[2], 3, AT_ONCE)
        everybody_s = await stuck_runs.stuck(connection, AT_ONCE)
    assert rest.ids == mine[3:]
    assert [each.id for each in everybody_s] == [*mine, theirs]


async def test_the_runs_of_the_dead_are_not_stuck_but_to_be_failed_over(scene: Scene, master: Me) -> None:
    await scene.instance(master)
    await scene.fence(master)
    async with scene.database.reading() as connection:
        assert await stuck_runs.stuck(connection, AT_ONCE) == []


# --------------------------------------------------------------------------------------------- what its master believes


async def test_of_what_is_believed_to_run_what_is_over_and_untold_is_found(scene: Scene, master: Me) -> None:
    worker = await scene.worker()
    lost, told, runs = [await scene.instance(master) for _ in range(3)]
    for run in (lost, told, runs):
        await scene.queue(run, 1, master=master)
    tasks = await scene.claim(worker)
    async with scene.writing() as connection:
        ends = [Report(task.id, 1, TaskState.SUCCESS, "", 0, None) for task in tasks[:2]]
        await task_claims.report(connection, ends, worker.epoch)
    await scene.sql("DELETE FROM task_event WHERE workflow_instance_id = :lost", lost=lost)
    assert await unheard(
        scene, [UnderWay(run, TaskCode(1), 1) for run in (lost, told, runs, WorkflowInstanceId(NOBODY))]
    ) == [UnderWay(lost, TaskCode(1), 1)]
    assert await unheard(scene, [UnderWay(lost, TaskCode(1), 2)]) == []
    assert await unheard(scene, []) == []


async def unheard(scene: Scene, believed: Sequence[UnderWay]) -> list[UnderWay]:
    async with scene.database.reading() as connection:
        return await stuck_runs.unheard(connection, believed, AT_ONCE)
