"""A value that one row may hold, and that a statement over many rows must bear: an infinite time, no run, no beat.

Each of these once failed a statement that all runs, all tasks or all nodes need.
"""

from __future__ import annotations

import math
from datetime import timedelta

import pytest

from dao.checks import stuck_runs
from dao.cluster import nodes
from dao.cluster.fencing import BEAT_NO_MAX
from dao.commands import deadly_commands, queue_listings, waiting_work
from dao.postgres.errors import BadData
from dao.runs import after_end, workflow_instances
from dao.runs.workflow_instances import InstanceEnd
from dao.tasks import task_claims
from model.cluster.nodes import NodeKind
from model.cluster.slots import Slot
from model.errors import Fenced
from model.ids import WorkflowInstanceId
from model.runs.instances import Parent
from model.runs.states import WaitReason, WorkflowState
from tests.dao.scene import Scene

ODD_TIMES = ("infinity", "-infinity", "200000-01-01", "4000-01-01 BC")


@pytest.mark.parametrize("time", ODD_TIMES)
async def test_a_beat_at_no_time_silences_nobody(scene: Scene, time: str) -> None:
    odd, other = await scene.master(), await scene.worker()
    await scene.sql(
        "UPDATE node_beat SET beaten_at = CAST(:time AS timestamptz) WHERE node_id = :id", time=time, id=odd.epoch
    )
    async with scene.database.reading() as connection:
        assert [row.epoch for row in await nodes.living(connection)] == [odd.epoch, other.epoch]


@pytest.mark.parametrize("beat_no", [2**63 - 1, 2**62, -1, 0])
async def test_whatever_number_a_beat_has_its_node_can_be_fenced(scene: Scene, beat_no: int) -> None:
    odd = await scene.master()
    await scene.sql("UPDATE node_beat SET beat_no = :beat_no", beat_no=beat_no)
    assert await scene.fence(odd)
    assert (await scene.sql("SELECT beat_no FROM node_beat"))[0] > min(beat_no, BEAT_NO_MAX)


async def test_a_beat_cannot_be_moved_to_a_node_that_is_not_there_yet(scene: Scene) -> None:
    """The next process to enlist would get its id, and fail."""
    await scene.master()
    with pytest.raises(BadData, match="node_beat_node_id_fkey"):
        await scene.sql("UPDATE node_beat SET node_id = 999")


async def test_a_node_whose_beat_somebody_deleted_is_judged_and_fenced(scene: Scene) -> None:
    odd = await scene.master()
    await scene.sql("DELETE FROM node_beat")
    assert (await scene.row_of(odd)).beat_no == 0
    assert await scene.fence(odd)
    assert await scene.sql("SELECT state FROM node") == ["FENCED"]


@pytest.mark.parametrize("kind", [NodeKind.MASTER, NodeKind.WORKER])
async def test_a_node_of_another_kind_than_it_was_writes_no_more(scene: Scene, kind: NodeKind) -> None:
    """What it runs or drives is taken for nobody's by then."""
    odd = await scene.node(kind)
    await scene.sql("UPDATE node SET kind = CASE kind WHEN 'MASTER' THEN 'WORKER' ELSE 'MASTER' END")
    async with scene.writing() as connection:
        with pytest.raises(Fenced):
            await nodes.hold_alive(connection, odd)
        with pytest.raises(Fenced):
            await nodes.barrier(connection, odd)


@pytest.mark.parametrize("time", ODD_TIMES)
async def test_a_wait_for_no_time_stops_no_look(scene: Scene, time: str) -> None:
    master = await scene.master()
    run = await scene.instance(master)
    await scene.queue(run, 1, master=master, wait_reason=WaitReason.DELAY, due_in_minutes=1.0)
    await scene.sql("UPDATE task_instance SET due_at = CAST(:time AS timestamptz)", time=time)
    await scene.commands(1)
    async with scene.database.reading() as connection:
        work = await waiting_work.work_waits(connection, Slot(0, 1), timedelta(hours=1), 1, master.epoch)
    assert work.mine
    is_due = work.due_in_s is not None and work.due_in_s <= 0
    assert is_due == (time in ("-infinity", "4000-01-01 BC"))


@pytest.mark.parametrize("time", ODD_TIMES)
@pytest.mark.parametrize("column", ["started_at", "queued_at"])
async def test_a_run_that_began_at_no_time_stops_no_walk_of_the_watcher(scene: Scene, time: str, column: str) -> None:
    master, worker = await scene.master(), await scene.worker()
    odd, other = await scene.instance(master), await scene.instance(master)
    await scene.queue(odd, 1, master=master)
    await scene.sql("UPDATE task_instance SET state = 'PAUSE', ended_at = now()")
    table = "workflow_instance" if column == "started_at" else "task_instance"
    await scene.sql(f"UPDATE {table} SET {column} = CAST(:time AS timestamptz)", time=time)
    async with scene.database.reading() as connection:
        walked = await stuck_runs.walk(connection, master.epoch, WorkflowInstanceId(0), 10, timedelta(0))
        await stuck_runs.stuck(connection, timedelta(0))
        await queue_listings.queue_by_group(connection)
    assert list(walked.ids) == [odd, other]
    assert worker.epoch > 0


@pytest.mark.parametrize("time", ODD_TIMES)
async def test_a_run_for_no_time_and_a_timeout_that_is_no_number_stop_no_claim(scene: Scene, time: str) -> None:
    master, worker = await scene.master(), await scene.worker()
    odd, other = await scene.instance(master), await scene.instance(master)
    for run in (odd, other):
        await scene.queue(run, 1, master=master, timeout_s=5.0)
    await scene.sql(
        "UPDATE workflow_instance SET schedule_time = CAST(:time AS timestamptz) WHERE id = :id", time=time, id=odd
    )
    for number, timeout_s in (("'NaN'", None), ("'infinity'", None), ("1e300", None), ("7", 7.0)):
        await scene.sql(f"UPDATE task_instance SET timeout_s = {number} WHERE workflow_instance_id = :id", id=odd)
        await scene.sql("UPDATE task_instance SET state = 'QUEUED' WHERE state = 'DISPATCH'")
        async with scene.writing() as connection:
            claimed = await task_claims.claim(connection, ["default"], 9, worker.epoch)
        found = {task.workflow_instance_id: task.timeout_s for task in claimed}
        assert found == {odd: timeout_s, other: 5.0}
        assert all(math.isfinite(task.schedule_time.timestamp()) for task in claimed)
        await scene.sql("ALTER TABLE task_instance DISABLE TRIGGER task_instance_moves_legally")
        await scene.sql("UPDATE task_instance SET state = 'QUEUED'")


async def test_a_task_of_no_run_keeps_no_place_in_a_claim(scene: Scene) -> None:
    """It comes first in the queue, and would be all that a worker with one free place ever picks."""
    master, worker = await scene.master(), await scene.worker()
    odd, other = await scene.instance(master), await scene.instance(master)
    for run in (odd, other):
        await scene.queue(run, 1, master=master)
    await scene.sql("UPDATE task_instance SET workflow_instance_id = -1 WHERE workflow_instance_id = :id", id=odd)
    assert [task.workflow_instance_id for task in await scene.claim(worker, limit=1)] == [other]


@pytest.mark.parametrize("column", ["parent_task_code", "parent_attempt", "child_index"])
async def test_a_run_under_half_a_place_ends_and_tells_nobody(scene: Scene, column: str) -> None:
    master = await scene.master()
    above = await scene.instance(master)
    below = await scene.instance(master, parent=Parent(above, 1, 1, 0))  # type: ignore[arg-type]
    await scene.sql(f"UPDATE workflow_instance SET {column} = NULL WHERE id = :id", id=below)
    async with scene.writing() as connection:
        end = InstanceEnd(below, WorkflowState.SUCCESS, "")
        await after_end.notify_awaiting(connection, await workflow_instances.finish(connection, [end], master.epoch))
    assert await scene.sql("SELECT count(*) FROM task_event") == [0]


async def test_a_command_of_more_deaths_than_there_are_keeps_no_dead_master_alive(scene: Scene) -> None:
    await scene.commands(1)
    dead = await scene.master()
    await scene.sql("UPDATE command SET deaths = 32767, tried_by = :id", id=dead.epoch)
    async with scene.writing() as connection:
        assert await deadly_commands.mark_suspects(connection, dead.epoch, Slot(0, 1)) == 1
    assert await scene.sql("SELECT deaths FROM command") == [1001]
