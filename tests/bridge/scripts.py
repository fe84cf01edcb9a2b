"""What masters, workers and people do in one transaction or two, as a script of calls."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy.ext.asyncio import AsyncConnection

from dao import (
    children,
    commands,
    deadly_commands,
    ends,
    instance_moves,
    nodes,
    schedules,
    serial_line,
    task_claims,
    task_events,
    task_instances,
    workflow_instances,
)
from dao.commands import Outcome
from dao.instance_moves import Revival
from dao.nodes import Me, NodeRow
from dao.schedules import Fire
from dao.workflow_instances import InstanceEnd
from model.ids import ScheduleId, TaskCode, WorkflowInstanceId
from model.instances import Parent
from model.nodes import Heartbeat, NodeKind, NodeState
from model.states import TaskState, WorkflowState
from tests.bridge.interleaving import Script, call, commit
from tests.bridge.people import edit, fence_in_model, fence_within
from tests.bridge.scenes import ALL, CODE, PROCESS, RUN, new_run, report_of, task
from tests.simulation.statements import nodes as model_nodes
from tests.simulation.statements import schedules as model_schedules
from tests.simulation.tables import Transaction

T, W = TaskState, WorkflowState
LAST_FIRE, NEXT_FIRE = datetime(2020, 1, 1, tzinfo=UTC), datetime(2050, 1, 1, tzinfo=UTC)


def takes(me: Me, limit: int) -> Script:
    async def script() -> None:
        await call(nodes.hold_alive, me)
        rows = await call(commands.claim, ALL, limit, 1)
        if rows:
            await call(commands.record, [Outcome(row, None) for row in rows], me.epoch, ALL)

    return script


def steals(me: Me, limit: int) -> Script:
    async def script() -> None:
        await call(nodes.hold_alive, me)
        rows = await call(commands.steal, timedelta(hours=1), limit)
        if rows:
            await call(commands.record, [Outcome(row, None) for row in rows], me.epoch, None)

    return script


def starts(me: Me) -> Script:
    """Takes a command and makes its run."""

    async def script() -> None:
        await call(nodes.hold_alive, me)
        rows = await call(commands.claim, ALL, 1, 1)
        if rows:
            made = await call(workflow_instances.insert, [new_run(rows[0].id)], me.epoch)
            await call(commands.record, [Outcome(rows[0], made[rows[0].id][0])], me.epoch, ALL)

    return script


def fence(judge: Me, dead: Me) -> Any:
    slot = {"slot_current": 0, "slot_total": 1} if dead.kind is NodeKind.MASTER else {}
    heartbeat = Heartbeat(epoch=dead.epoch, kind=dead.kind, address=dead.address, **slot)
    seen = NodeRow(dead.epoch, dead.kind, dead.address, NodeState.ALIVE, PROCESS, None, 0, 60.0, heartbeat)
    return call(fence_within, seen, judge, model=fence_in_model)


def fences_and(judge: Me, dead: Me, then: Callable[[Me], Script]) -> Script:
    """And looks after what is left, in a transaction of its own."""

    async def script() -> None:
        await fence(judge, dead)
        await commit()
        await then(judge)()

    return script


def hands_on(me: Me) -> Script:
    async def script() -> None:
        await call(nodes.hold_alive, me)
        await call(workflow_instances.hand_on, 100)

    return script


def takes_over(me: Me) -> Script:
    async def script() -> None:
        await call(nodes.hold_alive, me)
        taken = await call(workflow_instances.take_over, [RUN], me.epoch)
        await call(task_events.forget, list(taken))
        await call(task_instances.latest_attempts, list(taken))

    return script


def marks_lost(me: Me) -> Script:
    async def script() -> None:
        await call(nodes.hold_alive, me)
        await call(task_instances.mark_lost, 100)

    return script


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


def reports(me: Me, *ids: int) -> Script:
    async def script() -> None:
        await call(nodes.hold_alive, me)
        await call(task_claims.report, [report_of(id_) for id_ in ids], me.epoch)

    return script


def stops(me: Me) -> Script:
    """Ends what waits, has killed what runs."""

    async def script() -> None:
        await call(nodes.hold_alive, me)
        await call(workflow_instances.enter, {RUN: W.READY_STOP}, me.epoch)
        await call(task_instances.halt, {RUN: (T.KILL, "it was stopped")}, set[WorkflowInstanceId](), me.epoch)
        await call(task_instances.ask_kill, [RUN], me.epoch)

    return script


def finishes(me: Me) -> Script:
    async def script() -> None:
        await call(nodes.hold_alive, me)
        awaited = await call(workflow_instances.finish, [InstanceEnd(RUN, W.SUCCESS, "")], me.epoch)
        await call(ends.tell, awaited)

    return script


def joins(me: Me, command: int) -> Script:
    """Starts a run of a serial workflow, as `master/serial.py`."""

    async def script() -> None:
        await call(nodes.hold_alive, me)
        line = await call(serial_line.lock, {CODE})
        new = new_run(command, W.SERIAL_WAIT if line else W.RUNNING_EXECUTION, is_serial=True)
        await call(workflow_instances.insert, [new], me.epoch)

    return script


def revives(me: Me) -> Script:
    """If it has ended."""

    async def script() -> None:
        await call(nodes.hold_alive, me)
        locked = await call(instance_moves.lock, [RUN])
        if locked[RUN].state.is_final:
            await call(instance_moves.revive, [Revival(RUN, repeats=True)], me.epoch)

    return script


def asks_for_a_stop(me: Me) -> Script:
    """If it runs."""

    async def script() -> None:
        await call(nodes.hold_alive, me)
        locked = await call(instance_moves.lock, [RUN])
        if locked[RUN].state is W.RUNNING_EXECUTION:
            await call(instance_moves.ask_halt, {RUN: W.READY_STOP})

    return script


def tries(me: Me) -> Script:
    async def script() -> None:
        await call(nodes.hold_alive, me)
        await call(deadly_commands.try_next, me.epoch)

    return script


def sets_apart(dead: Me) -> Script:
    async def script() -> None:
        await call(deadly_commands.set_apart, dead.epoch, ALL)

    return script


def queues_due(me: Me) -> Script:
    async def script() -> None:
        await call(nodes.hold_alive, me)
        await call(task_instances.queue_due, 100)

    return script


def beats(me: Me) -> Script:
    async def script() -> None:
        heartbeat = Heartbeat(epoch=me.epoch, kind=me.kind, address=me.address)
        await call(_beat, me, heartbeat, model=_beat_in_model)

    return script


async def _beat(connection: AsyncConnection, me: Me, heartbeat: Heartbeat) -> int:
    return (await nodes.beat(connection, me, 0, unanswered=0, heartbeat=heartbeat))[0]


def _beat_in_model(tx: Transaction, me: Me, heartbeat: Heartbeat) -> int:
    return model_nodes.beat(tx, me, 0, unanswered=0, heartbeat=heartbeat)[0]


def fires(me: Me) -> Script:
    """What is due."""

    async def script() -> None:
        await call(nodes.hold_alive, me)
        due = await call(schedules.due, ALL, 10)
        if due is not None:
            await call(schedules.fire, [Fire(row, [LAST_FIRE], NEXT_FIRE) for row in due.rows])

    return script


def edits() -> Script:
    """A person does."""

    async def script() -> None:
        await call(edit_crontab, ScheduleId(1), "0 30 * * * ?", model=_edit_in_model)

    return script


async def edit_crontab(connection: AsyncConnection, id_: ScheduleId, crontab: str) -> None:
    await edit(connection, id_, crontab=crontab)


def _edit_in_model(tx: Transaction, id_: ScheduleId, crontab: str) -> None:
    model_schedules.edit(tx, id_, crontab=crontab)


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


def marks_running(me: Me) -> Script:
    """The task of which it is not known yet that it begins."""

    async def script() -> None:
        await call(nodes.hold_alive, me)
        held = await call(task_claims.held, me.epoch)
        for each in held:
            if each.state == T.DISPATCH:
                await call(task_claims.mark_running, each, me.epoch)

    return script


def waits_for_its_writes(me: Me) -> Script:
    """After a COMMIT of unknown outcome."""

    async def script() -> None:
        await call(nodes.barrier, me)
        await call(workflow_instances.owned, me.epoch)

    return script
