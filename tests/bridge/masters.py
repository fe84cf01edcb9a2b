"""A master drives what it owns, in the order of `master/drive/driver.py`, and looks after the rest."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from dao.alerts import alerts
from dao.alerts.alerts import Missed
from dao.checks import stuck_runs
from dao.checks.stuck_runs import UnderWay
from dao.cluster import drains, gone_nodes, slot_changes
from dao.cluster.nodes import Me
from dao.commands import commands, waiting_work
from dao.postgres.database import database_time
from dao.runs import after_end, children, dependencies, failover, serial_line, triggers, workflow_instances
from dao.runs.children import NewChild, Unmade
from dao.runs.dependencies import BEGINNING, DependentEnd, Happened, Span
from dao.runs.triggers import DatasetUpdate
from dao.runs.workflow_instances import InstanceEnd
from dao.tasks import approvals, lost_tasks, past_attempts, task_events, task_instances, task_timers
from dao.tasks.task_instances import NewTask
from model.choices import Priority
from model.cluster.low_water import FROM_FIRST, Marks
from model.cluster.nodes import NodeKind
from model.cluster.slots import Slot
from model.ids import Epoch, ScheduleId, TaskCode, TaskInstanceId, WorkflowCode, WorkflowInstanceId
from model.runs.instances import AttemptEnd, Parent, TaskAttempt
from model.runs.states import TaskState, WaitReason, WorkflowState
from tests.bridge.program import CODES, Program
from tests.bridge.workers import GROUPS
from tests.simulation.statements.runs.dependencies import waits as waits_for_others
from tests.simulation.tables import Values

T, W = TaskState, WorkflowState
AN_HOUR, A_MONTH = timedelta(hours=1), timedelta(days=30)
TASKS = (1, 2, 3)
ELEMENTS = (-16_384, -16_385)
"""The codes of elements of the first task."""
NO_TASK = TaskInstanceId(10**6)
STANDS = 9
"""The code of the task of each run that stands for others."""


async def advance(p: Program) -> None:
    me = await p.licensed(NodeKind.MASTER)
    await p.call(task_events.consume, me.epoch, p.random.choice((1, 3, 100)))
    owned = p.owned(me)
    for id_, run in p.some(owned) if owned else []:
        ends_soon = 8 if run.parent is not None else 1
        await p.random.choices(_WRITES, (3, 4, 1, 1, 2, ends_soon, 1))[0](p, me, id_, run)
    if p.chance(0.1):
        await p.call(workflow_instances.ran_s, [id_ for id_, _ in owned], me.epoch)
    if p.chance(0.4):
        await p.call(stuck_runs.walk, me.epoch, WorkflowInstanceId(0), 50, timedelta(0))
    if p.chance(0.1):
        await p.call(workflow_instances.take_back, p.instances(), me.epoch)
    if p.chance(0.2):
        await p.call(workflow_instances.reset_takeovers, [id_ for id_, _ in owned], me.epoch)
    if updates := [
        DatasetUpdate(id_, each.task_code, each.attempt, p.random.choice((("d",), ("d", "e"), ("f",))))
        for id_, _ in owned
        for each in p.tasks_of(id_)
        if each.task_code > 0 and p.chance(0.1)
    ]:
        await p.call(triggers.after_updates, updates, me.epoch)


async def _queue(p: Program, me: Me, id_: WorkflowInstanceId, _: Values) -> None:
    new = [new_task(p, id_, code) for code in p.some((*TASKS, *ELEMENTS))]
    await p.call(task_instances.queue, new, me.epoch)


def new_task(p: Program, id_: WorkflowInstanceId, code: int, **fields: object) -> NewTask:
    """The attempt after the last one, mostly."""
    attempts = [each.attempt for each in p.tasks_of(id_) if each.task_code == code]
    attempt = max(attempts, default=0) + (0 if attempts and p.chance(0.03) else 1)
    wait = p.random.choice((None, None, None, WaitReason.DELAY, WaitReason.RETRY))
    given: dict[str, Any] = {
        "state": T.QUEUED if wait is None else T.DELAY_EXECUTION,
        "retries": attempt - 1,
        "values": '{"b":"2"}',
        "wait_reason": wait,
        "due_in_minutes": 0 if wait is None else p.random.choice((0, 60, 180)),
        "branch": frozenset({TaskCode(1), TaskCode(2)}) if p.chance(0.05) else None,
    }
    return NewTask(
        id_,
        TaskAttempt(TaskCode(code), attempt, **(given | fields)),
        f"task {code}",
        "SHELL",
        p.chance(0.6),
        p.random.choice(GROUPS),
        p.random.choice(list(Priority)),
        p.random.choice(list(Priority)),
        '{"a":1}',
        dispatch_timeout_s=7200.0 if p.chance(0.1) else None,
    )


async def _stand(p: Program, me: Me, id_: WorkflowInstanceId, _: Values) -> None:
    """A task that lives in the master, and its children; or one that is over at once."""
    if p.chance(0.2):
        over = {"state": p.random.choice((T.SUCCESS, T.FAILURE)), "reason": "at once", "wait_reason": None}
        await p.call(task_instances.queue, [new_task(p, id_, 8, **over)], me.epoch)
        return
    former = [each for each in p.tasks_of(id_) if each.task_code == STANDS and each.state is T.RUNNING_EXECUTION]
    if former:  # of one task one attempt lives
        await p.call(task_instances.end_in_master, [_end(p, each) for each in former], me.epoch)
    lives = {"state": T.RUNNING_EXECUTION, "wait_reason": None, "values": '{"x":"1,2"}'}
    new = new_task(p, id_, STANDS, **lives)
    await p.call(task_instances.queue, [new], me.epoch)
    ended = p.rows(p.server.instances, lambda each: each.parent is not None and each.state.is_final)
    latest: dict[int, Parent] = {}  # of the children of each index
    for child in sorted((each for _, each in ended), key=lambda each: each.parent.attempt):
        if child.parent.instance == id_:
            latest[child.parent.index] = child.parent
    before = [(parent, new.attempt.attempt) for parent in latest.values()]
    if before and p.chance(0.8):
        await p.call(children.resume, before)
        await p.call(children.of, [id_])
        return
    count, begun = p.random.choice((1, 2)), new.attempt
    waits = p.chance(0.7)
    indexes = range(count if waits else 1)
    below = [_child(p, Parent(id_, begun.code, begun.attempt, index, waits)) for index in indexes]
    await p.call(children.start, below)


def _child(p: Program, parent: Parent) -> NewChild:
    return NewChild(
        *(parent, "default", p.random.choice(CODES), None, {"x": "1"}, Priority.MEDIUM),
        *(p.random.choice((None, "gpu")), None, False, None, "UTC"),
    )


async def _below(p: Program, _me: Me, id_: WorkflowInstanceId, _: Values) -> None:
    await p.call(children.of, p.instances())
    under = [row.id for row, _ in p.rows(p.server.instances, lambda each: each.parent is not None)]
    if under:
        await p.call(
            children.report_at_rest, {each: p.random.choice((None, "it was refused")) for each in p.some(under)}
        )
    if p.chance(0.3):
        await p.call(
            children.report_unmade, [Unmade(Parent(id_, TaskCode(STANDS), 1, 0), W.FAILURE, "it was never made")]
        )


async def _halt(p: Program, me: Me, id_: WorkflowInstanceId, run: Values) -> None:
    """Halt a run on request, or because it is given up."""
    is_pause = p.chance(0.4)
    entered = {id_: W.READY_PAUSE if is_pause else W.READY_STOP}
    if run.state is not W.READY_STOP or p.chance(0.1):
        await p.call(workflow_instances.enter, entered, me.epoch)
    state = T.PAUSE if is_pause else T.KILL
    given_up = {id_} if not is_pause and p.chance(0.3) else set()
    await p.call(task_instances.halt, {id_: (state, "it was halted")}, given_up, me.epoch)
    await p.call(children.halt, {id_: state})
    if is_pause:
        await p.call(task_instances.hand_over_streams, [id_], me.epoch)
    else:
        await p.call(task_instances.ask_kill, [id_], me.epoch)


async def _end_in_master(p: Program, me: Me, id_: WorkflowInstanceId, _: Values) -> None:
    living = [
        each
        for each in p.tasks_of(id_)
        if (each.state is T.RUNNING_EXECUTION and each.worker_id is None) or p.chance(0.03)
    ]
    if not living:
        return
    await p.call(task_instances.end_in_master, [_end(p, p.one(living))], me.epoch)


def _end(p: Program, task: Values) -> tuple[WorkflowInstanceId, AttemptEnd]:
    state = p.random.choice((T.SUCCESS, T.FAILURE, T.KILL))
    reason = "" if state is T.SUCCESS else "it failed"
    outputs = json.dumps({"y": 1}) if state is T.SUCCESS else None
    return task.workflow_instance_id, AttemptEnd(task.task_code, task.attempt, state, outputs, reason)


async def _finish(p: Program, me: Me, id_: WorkflowInstanceId, run: Values) -> None:
    """End the open tasks of a run that is given up, as a master does."""
    await p.call(task_instances.halt, {id_: (T.KILL, "it was given up")}, {id_}, me.epoch)
    await p.call(task_instances.ask_kill, [id_], me.epoch)
    fitting = {W.READY_PAUSE: (W.PAUSE, W.PAUSE, W.SUCCESS), W.READY_STOP: (W.STOP, W.FAILURE)}
    state = p.random.choice(fitting.get(run.state, (W.SUCCESS, W.SUCCESS, W.FAILURE)))
    if run.state is W.RUNNING_EXECUTION and p.chance(0.3):
        await p.call(workflow_instances.enter, {id_: W.READY_PAUSE}, me.epoch)
        state = W.PAUSE
    if p.chance(0.03):
        state = p.random.choice((W.PAUSE, W.STOP))
    outputs = '{"o":"1"}' if state is W.SUCCESS and p.chance(0.5) else None
    end = InstanceEnd(id_, state, "" if state is W.SUCCESS else "so it ended", outputs)
    await p.call(after_end.notify_awaiting, await p.call(workflow_instances.finish, [end], me.epoch))


async def _close(p: Program, me: Me, id_: WorkflowInstanceId, run: Values) -> None:
    """Begin the cleanup, which ends earlier requests; the run may already be cleaning up."""
    if run.ending_as is not None and p.chance(0.9):
        return
    state = p.random.choice((W.SUCCESS, W.FAILURE, W.STOP))
    end = InstanceEnd(id_, state, "" if state is W.SUCCESS else "so it will end")
    await p.call(workflow_instances.close, [end], me.epoch)
    await p.call(task_events.delete_of, [id_])


_WRITES = (_queue, _stand, _below, _halt, _end_in_master, _finish, _close)


# -------------------------------------------------------------------------------------------- who waits for others


async def wait_for_others(p: Program) -> None:
    """A DEPENDENT task begins to wait, or some are judged."""
    me = await p.licensed(NodeKind.MASTER)
    if p.chance(0.5):
        id_, _ = p.one(p.owned(me))
        new = new_task(p, id_, WAITS, state=T.RUNNING_EXECUTION, wait_reason=None)
        await p.call(task_instances.queue, [new._replace(type="DEPENDENT", timeout_s=7200.0)], me.epoch)
        return
    await p.call(dependencies.waiting_of, me.epoch, p.instances())
    stretch = await p.call(dependencies.walk, me.epoch, BEGINNING, p.random.choice((1, 100)))
    if stretch.next is not None:
        await p.call(dependencies.walk, me.epoch, stretch.next, 1)
    tasks = [TaskInstanceId(row.id) for row, _ in p.rows(p.server.tasks, waits_for_others)]
    wanted = p.some([*tasks, TaskInstanceId(10**6)])
    await p.call(dependencies.still_waiting, me.epoch, wanted)
    spans = [
        Span(WorkflowCode(code), *p.random.choice(_SPANS), task, p.chance(0.5), p.chance(0.5), p.chance(0.3))
        for code in CODES
        for task in (None, "task 1")
    ]
    await p.call(dependencies.before, spans)
    await p.call(dependencies.coming, spans)
    await p.call(dependencies.find, [*spans, *(replace(span, task="ALL") for span in spans)])
    outputs = p.random.choice((None, '{"a": "1"}'))
    completion = [
        DependentEnd(id_, p.random.choice((T.SUCCESS, T.FAILURE)), "it was judged", outputs) for id_ in wanted
    ]
    await p.call(dependencies.end, completion, me.epoch)
    await p.call(dependencies.notify_masters, [Happened(WorkflowCode(1), _AGES_AGO, None)])


WAITS = 7
"""The code of the task of each run that waits for others."""
_AGES_AGO, _SOON = datetime(2000, 1, 1, tzinfo=UTC), datetime(2100, 1, 1, tzinfo=UTC)
_SPANS = ((_AGES_AGO, _SOON), (_AGES_AGO, datetime(2020, 1, 1, tzinfo=UTC)))


# ------------------------------------------------------------------------------------------------ the rest


async def clean_up(p: Program) -> None:
    """Handle what is due, what dead nodes left, and what was forgotten."""
    await p.call(gone_nodes.work_left)
    if p.chance(0.5):
        await p.call(serial_line.call_missed)
    if p.chance(0.2):  # as one does that met an error
        await p.call(failover.left_behind, 100, p.instances())
        await p.call(lost_tasks.lost, 100)
        await p.call(failover.fail_over, 100, only=p.one(p.instances()))
        await p.call(lost_tasks.mark_lost, 100, without=[TaskInstanceId(1)])  # which of several 1 would be is open
    if p.chance(0.7):
        await p.call(failover.fail_over, 100)
        await p.call(lost_tasks.mark_lost, 100)
        await p.call(task_events.readdress)
        await p.call(task_events.drop_stale)
        await p.call(gone_nodes.delete_ended, A_MONTH, 100)
    if p.chance(0.3):  # as after a set that cannot be written
        waits = await p.call(task_timers.due, 100, [TaskInstanceId(1)])
        await p.call(task_timers.queue_due, 100, only=[*p.some(waits, 1), NO_TASK][0])
        late = await p.call(task_timers.undispatched, 100, [TaskInstanceId(1)])
        await p.call(task_timers.fail_undispatched, 100, only=[*p.some(late, 1), NO_TASK][0])
        unanswered = await p.call(approvals.due, 100, [TaskInstanceId(1)])
        await p.call(approvals.end_late, 100, only=[*p.some(unanswered, 1), NO_TASK][0])
    await p.call(task_timers.queue_due, 100, without=[TaskInstanceId(1)])
    await p.call(task_timers.fail_undispatched, 100, without=[TaskInstanceId(1)])
    await p.call(task_timers.queue_due, 100)
    await p.call(task_timers.fail_undispatched, 100)
    await p.call(approvals.end_late, 100)
    await p.call(task_timers.resume, 100)
    await p.call(task_timers.next_due_in_s)


async def look(p: Program) -> None:
    """Make the calls that only read."""
    me = p.node(NodeKind.MASTER)
    slot = p.random.choice((None, Slot(0, 1), Slot(1, 2)))
    marks = p.random.choice((None, FROM_FIRST, Marks(event=p.random.randint(1, 20))))
    await p.call(waiting_work.work_waits, slot, AN_HOUR, 1, me.epoch, marks=marks)
    await p.call(commands.id_increment)
    owned = await p.call(workflow_instances.owned, me.epoch)
    await p.call(workflow_instances.read_owned, sorted({*owned, *p.instances()}), me.epoch)
    await p.call(workflow_instances.still_owned, sorted({*owned, *p.instances()}), me.epoch)
    await p.call(past_attempts.latest_attempts, p.instances())
    await p.call(stuck_runs.walk, me.epoch, WorkflowInstanceId(p.random.choice((0, 0, 2))), 50, p.random.choice(_AGES))
    believed = [UnderWay(each.workflow_instance_id, each.task_code, each.attempt) for _, each in p.rows(p.server.tasks)]
    await p.call(stuck_runs.unheard, p.some(believed) if believed else [], p.random.choice(_AGES))
    await p.call(database_time)


async def tell_people(p: Program) -> None:
    """Write what only people read: it changes no decision."""
    me = await p.licensed(NodeKind.MASTER, p.drivers())
    if owned := p.owned(me):
        await p.call(alerts.run_takes_too_long, p.one(owned)[0], 60.0, me.epoch)
    missed = [Missed(ScheduleId(row.id), _AGES_AGO, 2) for row, _ in p.rows(p.server.schedules)]
    await p.call(alerts.schedules_missed, missed)
    masters = [Epoch(row.id) for row, each in p.rows(p.server.nodes) if each.kind is NodeKind.MASTER]
    await p.call(slot_changes.record, p.some(masters), [me.epoch])
    await p.call(slot_changes.delete_old, A_MONTH, 100)
    await p.call(drains.delete_unused, A_MONTH)


_AGES = (timedelta(0), AN_HOUR / 2)
ACTIONS = ((advance, 44), (clean_up, 8), (look, 4), (wait_for_others, 4), (tell_people, 1))
