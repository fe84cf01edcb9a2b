"""What masters and workers do to a run and its tasks, in one transaction each."""

from __future__ import annotations

from dataclasses import replace

from dao.cluster import nodes
from dao.cluster.nodes import Me
from dao.postgres.pool import AsyncConnection
from dao.postgres.sql import Sql
from dao.runs import after_end, children, control, workflow_instances
from dao.runs.control import Revival
from dao.runs.workflow_instances import InstanceEnd
from dao.tasks import requeue, task_claims, task_events, task_instances, task_timers
from model.ids import Epoch, TaskCode, TaskInstanceId, WorkflowInstanceId
from model.runs.instances import Parent
from model.runs.looks import Again
from model.runs.states import TaskState, WorkflowState
from tests.bridge.interleaving import Script, call
from tests.bridge.scenes import RUN, new_run, report_of, task
from tests.simulation.tables import Transaction

T, W = TaskState, WorkflowState


def advances(me: Me) -> Script:
    """Reads what ended, and queues the next task."""

    async def script() -> None:
        await call(nodes.hold_alive, me)
        await call(task_events.consume, me.epoch, 100)
        await call(task_instances.queue, [task(4)], me.epoch)

    return script


def consumes(me: Me) -> Script:
    async def script() -> None:
        await call(nodes.hold_alive, me)
        await call(task_events.consume, me.epoch, 100)

    return script


def claims(me: Me, limit: int) -> Script:
    async def script() -> None:
        await call(nodes.hold_alive, me)
        await call(task_claims.claim, ("default",), limit, me.epoch)

    return script


def marks_running(me: Me) -> Script:
    """The task of which it is not known yet that it begins."""

    async def script() -> None:
        await call(nodes.hold_alive, me)
        held = await call(task_claims.owned, me.epoch)
        for each in held:
            if each.state == T.DISPATCH:
                await call(task_claims.mark_running, each, me.epoch)

    return script


def reports(me: Me, *ids: int) -> Script:
    async def script() -> None:
        await call(nodes.hold_alive, me)
        await call(task_claims.report, [report_of(id_) for id_ in ids], me.epoch)

    return script


def looks_in_vain(me: Me, *ids: int) -> Script:
    """The attempts look again in an hour."""
    again = Again(3600.0)

    async def script() -> None:
        await call(nodes.hold_alive, me)
        looked = [replace(report_of(id_, T.DELAY_EXECUTION), reason="no such file", again=again) for id_ in ids]
        await call(task_claims.report, looked, me.epoch)

    return script


def stops(me: Me) -> Script:
    """Ends what waits, has killed what runs."""

    async def script() -> None:
        await call(nodes.hold_alive, me)
        await call(workflow_instances.enter, {RUN: W.READY_STOP}, me.epoch)
        await call(task_instances.halt, {RUN: (T.KILL, "it was stopped")}, set[WorkflowInstanceId](), me.epoch)
        await call(task_instances.ask_kill, [RUN], me.epoch)

    return script


def pauses(me: Me) -> Script:
    """Holds back what waits, lets what runs come to its end."""

    async def script() -> None:
        await call(nodes.hold_alive, me)
        await call(workflow_instances.enter, {RUN: W.READY_PAUSE}, me.epoch)
        await call(task_instances.halt, {RUN: (T.PAUSE, "it was held back")}, set[WorkflowInstanceId](), me.epoch)

    return script


def gives_back(me: Me) -> Script:
    """Give back what it claimed and has not started."""

    async def script() -> None:
        await call(nodes.hold_alive, me)
        held = await call(hold_unstarted, me.epoch, model=hold_unstarted_in_model)
        await call(requeue.put_back, held)

    return script


async def hold_unstarted(connection: AsyncConnection, worker: Epoch) -> list[TaskInstanceId]:
    """Lock the attempts as the code that puts tasks back does first."""
    rows = await connection.execute(_HOLD_UNSTARTED, {"worker": worker})
    return [TaskInstanceId(id_) for (id_,) in rows.all()]


def hold_unstarted_in_model(tx: Transaction, worker: Epoch) -> list[TaskInstanceId]:
    found = [
        (row, task)
        for row, task in tx.scan(tx.server.tasks.rows)
        if (task.worker_id, task.state) == (worker, T.DISPATCH)
    ]
    for row, _ in found:
        tx.lock(row)
    return [TaskInstanceId(row.id) for row, _ in found]


_HOLD_UNSTARTED = Sql(
    "SELECT id FROM task_instance WHERE worker_id = :worker AND state = 'DISPATCH' ORDER BY id FOR UPDATE"
)


def finishes(me: Me) -> Script:
    async def script() -> None:
        await call(nodes.hold_alive, me)
        awaited = await call(workflow_instances.finish, [InstanceEnd(RUN, W.SUCCESS, "")], me.epoch)
        await call(after_end.notify_awaiting, awaited)

    return script


def closes(me: Me) -> Script:
    """All but what cleans up is over."""

    async def script() -> None:
        await call(nodes.hold_alive, me)
        await call(workflow_instances.close, [InstanceEnd(RUN, W.SUCCESS, "")], me.epoch)
        await call(task_events.delete_of, [RUN])

    return script


def revives(me: Me) -> Script:
    """If it has ended."""

    async def script() -> None:
        await call(nodes.hold_alive, me)
        locked = await call(control.lock, [RUN])
        if locked[RUN].state.is_final:
            await call(control.revive, [Revival(RUN, repeats=True)], me.epoch)

    return script


def asks_for_a_stop(me: Me) -> Script:
    """If it runs."""

    async def script() -> None:
        await call(nodes.hold_alive, me)
        locked = await call(control.lock, [RUN])
        if locked[RUN].state is W.RUNNING_EXECUTION:
            await call(control.ask_halt, {RUN: W.READY_STOP})

    return script


def queues_due(me: Me) -> Script:
    async def script() -> None:
        await call(nodes.hold_alive, me)
        await call(task_timers.queue_due, 100)

    return script


def starts_a_child(me: Me) -> Script:
    """Unless the run above is to halt."""

    async def script() -> None:
        await call(nodes.hold_alive, me)
        above = await call(children.above, {RUN})
        if above[RUN].state is W.RUNNING_EXECUTION:
            parent = Parent(RUN, TaskCode(1), 1, 0)
            await call(workflow_instances.insert, [replace(new_run(2000), parent=parent, depth=1)], me.epoch)

    return script


def stops_below(me: Me) -> Script:
    """And what stands under it."""

    async def script() -> None:
        await call(nodes.hold_alive, me)
        await call(workflow_instances.enter, {RUN: W.READY_STOP}, me.epoch)
        await call(children.halt, {RUN: T.KILL})

    return script


def waits_for_its_writes(me: Me) -> Script:
    """After a COMMIT of unknown outcome."""

    async def script() -> None:
        await call(nodes.barrier, me)
        await call(workflow_instances.owned, me.epoch)

    return script
