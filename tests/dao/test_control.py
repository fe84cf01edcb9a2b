"""`dao/runs/control.py`: whoever moves a run holds its row; what is driven is asked, what waits or rests is moved."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from dao.cluster.nodes import Me
from dao.runs import control, failover, workflow_instances
from dao.runs.control import Locked, Revival
from dao.runs.workflow_instances import InstanceEnd, OwnershipLost
from dao.tasks import task_events
from model.choices import ExecutionType
from model.ids import TaskCode, WorkflowCode, WorkflowInstanceId
from model.runs.instances import HaltRequest, Parent, WorkflowInstance
from model.runs.states import WorkflowState
from tests.dao.scene import Scene

W = WorkflowState
NO_SUCH = WorkflowInstanceId(777)


async def lock(scene: Scene, *ids: WorkflowInstanceId) -> dict[WorkflowInstanceId, Locked]:
    async with scene.writing() as connection:
        return await control.lock(connection, ids)


async def ask(scene: Scene, id_: WorkflowInstanceId, state: WorkflowState) -> None:
    async with scene.writing() as connection:
        await control.ask_halt(connection, {id_: state})


async def finish(scene: Scene, id_: WorkflowInstanceId, state: WorkflowState, master: Me) -> None:
    async with scene.writing() as connection:
        await workflow_instances.finish(connection, [InstanceEnd(id_, state, "so it is", '{"a": "1"}')], master.epoch)


async def revive(scene: Scene, *revivals: Revival, master: Me) -> dict[WorkflowInstanceId, WorkflowInstance]:
    async with scene.writing() as connection:
        return await control.revive(connection, revivals, master.epoch)


async def column(scene: Scene, name: str, id_: WorkflowInstanceId) -> object:
    [value] = await scene.sql(f"SELECT {name} FROM workflow_instance WHERE id = :id", id=id_)
    return value


# ---------------------------------------------------------------------------------------------------- held


async def test_a_held_run_is_given_as_it_stands_and_one_that_is_not_there_is_missing(scene: Scene) -> None:
    master = await scene.master()
    id_ = await scene.instance(master, execution_type=ExecutionType.SERIAL_WAIT)
    [command] = await scene.sql("SELECT command_id FROM workflow_instance")
    state, type_ = W.RUNNING_EXECUTION, ExecutionType.SERIAL_WAIT
    assert await lock(scene, id_, NO_SUCH, id_) == {
        id_: Locked(id_, WorkflowCode(1001), 1, state, type_, None, command=command)
    }


async def test_what_was_asked_of_the_owner_counts_before_the_owner_has_heard_of_it(scene: Scene) -> None:
    id_ = await scene.instance(await scene.master())
    await ask(scene, id_, W.READY_PAUSE)
    assert await column(scene, "state", id_) == "RUNNING_EXECUTION"
    assert (await lock(scene, id_))[id_].state is W.READY_PAUSE


async def test_what_was_written_by_hand_of_what_it_resumes_is_read_whatever_its_shape(scene: Scene) -> None:
    id_ = await scene.instance(await scene.master())
    for written, read in (("'{{1,2},{3,NULL}}'", {1, 2, 3}), ("'{}'", set()), ("NULL", set())):
        await scene.sql(f"UPDATE workflow_instance SET resumes = {written}")
        assert (await lock(scene, id_))[id_].resumes == read


async def test_of_two_commands_for_one_run_the_second_sees_what_the_first_did(scene: Scene) -> None:
    id_ = await scene.instance(await scene.master())
    async with scene.writing() as first:
        await control.lock(first, [id_])
        second = asyncio.create_task(lock(scene, id_))
        await scene.waits_for_a_lock()
        await control.ask_halt(first, {id_: W.READY_STOP})
        assert not second.done()
    assert (await second)[id_].state is W.READY_STOP


async def test_masters_that_hold_the_same_runs_in_any_order_never_wait_in_a_circle(scene: Scene) -> None:
    master = await scene.master()
    ids = [await scene.instance(master) for _ in range(20)]

    async def hold(order: Sequence[WorkflowInstanceId]) -> int:
        return len(await lock(scene, *order))

    held = await asyncio.gather(*(hold(order) for order in (ids, ids[::-1], ids[10:] + ids[:10]) for _ in range(3)))
    assert held == [20] * 9


async def test_the_lines_of_serial_runs_are_told_from_the_others(scene: Scene) -> None:
    master = await scene.master()
    ids = [
        await scene.instance(master, code=1),
        await scene.instance(master, code=2, execution_type=ExecutionType.SERIAL_DISCARD),
        await scene.instance(master, code=2, execution_type=ExecutionType.SERIAL_DISCARD, serial_key="k"),
        await scene.instance(master, code=3, execution_type=ExecutionType.SERIAL_PRIORITY),
    ]
    async with scene.database.reading() as connection:
        assert await control.serial_lines(connection, ids) == {(2, ""), (2, "k"), (3, "")}
        assert await control.serial_lines(connection, ids[:1]) == set()


# --------------------------------------------------------------------------------------------- asked to halt


async def test_an_owner_hears_of_a_halt_and_the_row_keeps_it(scene: Scene) -> None:
    master, other = await scene.master(), await scene.master()
    paused, stopped = await scene.instance(master), await scene.instance(other)
    async with scene.writing() as connection:
        await control.ask_halt(connection, {paused: W.READY_PAUSE, stopped: W.READY_STOP})
    async with scene.writing() as connection:
        heard = [event[:2] for event in await task_events.consume(connection, master.epoch, 10)]
        assert heard == [(paused, HaltRequest(W.READY_PAUSE))]
        heard = [event[:2] for event in await task_events.consume(connection, other.epoch, 10)]
        assert heard == [(stopped, HaltRequest(W.READY_STOP))]
        [read] = await workflow_instances.read_owned(connection, [stopped], other.epoch)
    assert (read.state, read.requested_state) == (W.RUNNING_EXECUTION, W.READY_STOP)


async def test_a_halt_outlives_the_owner_that_was_asked_for_it(scene: Scene) -> None:
    dead, heir = await scene.master(), await scene.master()
    before, between = await scene.instance(dead), await scene.instance(dead)
    await ask(scene, before, W.READY_PAUSE)
    await scene.fence(dead)
    async with scene.writing() as connection:
        assert await failover.fail_over(connection, 10) == 2
    await ask(scene, between, W.READY_STOP)
    async with scene.writing() as connection:
        taken = await failover.claim_failover(connection, [before, between], heir.epoch)
    assert {id_: instance.state for id_, (instance, _) in taken.items()} == {
        before: W.READY_PAUSE,
        between: W.READY_STOP,
    }


async def test_only_the_owner_moves_what_runs_and_a_stop_may_follow_a_pause(scene: Scene) -> None:
    master, other = await scene.master(), await scene.master()
    id_ = await scene.instance(master)
    async with scene.writing() as connection:
        await workflow_instances.enter(connection, {id_: W.READY_PAUSE}, master.epoch)
        await workflow_instances.enter(connection, {id_: W.READY_STOP}, master.epoch)
    with pytest.raises(OwnershipLost, match=f"{id_} of 1 runs to halt"):
        async with scene.writing() as connection:
            await workflow_instances.enter(connection, {id_: W.READY_STOP}, other.epoch)
    assert await column(scene, "state", id_) == "READY_STOP"


async def test_a_run_that_has_ended_asks_for_nothing_any_more(scene: Scene) -> None:
    master = await scene.master()
    id_ = await scene.instance(master)
    await ask(scene, id_, W.READY_PAUSE)
    await finish(scene, id_, W.SUCCESS, master)
    assert await column(scene, "requested_state", id_) is None
    assert (await lock(scene, id_))[id_].state is W.SUCCESS


# ----------------------------------------------------------------------------------------------- waits ended


async def test_what_waits_ends_at_once_and_what_runs_is_left_alone(scene: Scene) -> None:
    master = await scene.master()
    waiting = await scene.instance(master, state=W.SERIAL_WAIT)
    other, running = await scene.instance(master, state=W.SERIAL_WAIT), await scene.instance(master)
    ends = {waiting: (W.PAUSE, "it was paused"), other: (W.STOP, "it was stopped"), running: (W.STOP, "x")}
    async with scene.writing() as connection:
        await control.end_waiting(connection, ends)
    assert await scene.sql("SELECT id, state, reason, ended_at IS NOT NULL FROM workflow_instance ORDER BY id") == [
        (waiting, "PAUSE", "it was paused", True),
        (other, "STOP", "it was stopped", True),
        (running, "RUNNING_EXECUTION", None, False),
    ]


async def test_what_waits_has_no_owner_so_that_nobody_hands_it_on(scene: Scene) -> None:
    master = await scene.master()
    await scene.instance(master, state=W.SERIAL_WAIT)
    over = await scene.instance(master, state=W.STOP, reason="it gives way")
    await scene.fence(master)
    async with scene.writing() as connection:
        assert await failover.fail_over(connection, 10) == 0
    assert await scene.sql("SELECT DISTINCT master_id FROM workflow_instance") == [0]
    assert await column(scene, "ended_at IS NOT NULL AND reason = 'it gives way'", over)


# --------------------------------------------------------------------------------------------------- revived


async def test_a_run_that_goes_on_is_its_new_masters_and_keeps_nothing_of_its_end(scene: Scene) -> None:
    old, new = await scene.master(), await scene.master()
    id_ = await scene.instance(old)
    await scene.sql("UPDATE workflow_instance SET takeovers = 2")
    await finish(scene, id_, W.FAILURE, old)
    revived = await revive(scene, Revival(id_), master=new)
    assert revived[id_].state is W.RUNNING_EXECUTION
    assert await scene.sql(
        "SELECT state, master_id, ended_at, reason, requested_state, takeovers, outputs, run_times "
        "FROM workflow_instance"
    ) == [("RUNNING_EXECUTION", new.epoch, None, None, None, 0, None, 1)]
    async with scene.database.reading() as connection:
        assert await workflow_instances.owned(connection, new.epoch) == {id_}


async def test_a_repeated_run_counts_how_often_it_was_run(scene: Scene) -> None:
    master = await scene.master()
    again, once = await scene.instance(master), await scene.instance(master)
    for _ in range(2):
        for id_ in (again, once):
            await finish(scene, id_, W.SUCCESS, master)
        await revive(scene, Revival(again, repeats=True), Revival(once), master=master)
    assert await column(scene, "run_times", again) == 3
    assert await column(scene, "run_times", once) == 1


async def test_a_limit_to_some_tasks_holds_until_another_command_lifts_it(scene: Scene) -> None:
    """EXECUTE_TASK limits beside what the start was limited to; recovering keeps that, repeating forgets it."""
    master = await scene.master()
    id_ = await scene.instance(master, scope="[1, 2, 3]")
    scopes = []
    for revival in (
        Revival(id_, executing=frozenset({TaskCode(9), TaskCode(2)})),
        Revival(id_, keeps_executing=True),
        Revival(id_, repeats=True),
    ):
        await finish(scene, id_, W.SUCCESS, master)
        scopes.append((await revive(scene, revival, master=master))[id_].scope)
        assert (await lock(scene, id_))[id_].scope == scopes[-1]
    assert scopes == [{2, 9}, {2, 9}, {1, 2, 3}]


async def test_a_child_that_goes_on_belongs_to_the_new_attempt_above_it(scene: Scene) -> None:
    master = await scene.master()
    above = await scene.instance(master)
    child = await scene.instance(master, parent=Parent(above, TaskCode(3), 1, 0))
    await finish(scene, child, W.FAILURE, master)
    revived = await revive(scene, Revival(child, parent=Parent(above, TaskCode(3), 4, 0)), master=master)
    assert revived[child].parent == Parent(above, TaskCode(3), 4, 0)
    await finish(scene, child, W.FAILURE, master)
    assert (await revive(scene, Revival(child), master=master))[child].parent == Parent(above, TaskCode(3), 4, 0)
