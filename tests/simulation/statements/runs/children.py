"""The statements of `dao/runs/children.py`."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence

from dao.runs.children import SUB_WORKFLOW, Above, NewChild, Unmade
from model.ids import Epoch, TaskCode, WorkflowInstanceId
from model.runs.command_moves import CommandType
from model.runs.instances import ChildState, Parent
from model.runs.states import TaskState, WorkflowState
from tests.simulation.statements.commands import commands
from tests.simulation.statements.rows import move_child, note_owners, rows_of, tell_event
from tests.simulation.tables import Row, Transaction, Values

C, T, W = CommandType, TaskState, WorkflowState


def above(tx: Transaction, ids: Collection[WorkflowInstanceId]) -> dict[WorkflowInstanceId, Above]:
    """FOR SHARE in the order of the ids; then which of their tasks stand for children."""
    for row, _ in rows_of(tx, set(ids)):
        tx.share(row)
    found = {}
    for row, each in rows_of(tx, set(ids)):
        standing = [
            task
            for _, task in tx.of_key(tx.server.tasks, row.id)
            if task.state is T.RUNNING_EXECUTION and task.worker_id is None
        ]
        found[row.id] = Above(
            each.requested_state or each.state,
            each.params,
            each.depth,
            {task.task_code: task.attempt for task in standing},
            frozenset(TaskCode(task.task_code) for task in standing if task.kill_requested),
            each.interval,
        )
    return found


def _children(tx: Transaction, ids: Collection[int]) -> list[tuple[Row, Values]]:
    return [
        (row, each)
        for row, each in tx.scan(tx.server.instances.rows)
        if each.parent is not None and each.parent.instance in ids
    ]


def of(tx: Transaction, parents: Collection[WorkflowInstanceId]) -> dict[WorkflowInstanceId, list[ChildState]]:
    """A child that its task resumes counts as running, even before its command is taken."""
    found: dict[WorkflowInstanceId, list[ChildState]] = defaultdict(list)
    if not parents:
        return found
    resumed = {
        each.row.workflow_instance_id
        for _, each in tx.scan(tx.server.commands.rows)
        if each.type in (C.RECOVER_SUSPENDED_PROCESS, C.START_FAILURE_TASK_PROCESS) and each.row.from_above == "true"
    }
    for row, each in _children(tx, parents):
        state = W.RUNNING_EXECUTION if str(row.id) in resumed else each.state
        told = each.outputs if each.state is W.SUCCESS else each.reason
        found[each.parent.instance].append(
            ChildState(each.parent.code, each.parent.attempt, each.parent.index, state, told)
        )
    return found


def existing(tx: Transaction, parents: Sequence[Parent]) -> dict[Parent, WorkflowInstanceId]:
    instances = {parent.instance for parent in parents}
    return {each.parent: row.id for row, each in _children(tx, instances) if each.parent in parents}


def start(tx: Transaction, new: Sequence[NewChild]) -> None:
    """Every workflow that is named here exists: what happens otherwise needs no simulation."""
    for each in new:
        commands.ask(
            tx,
            C.START_PROCESS,
            workflow_code=str(each.workflow),
            params=json.dumps(dict(each.params)),
            priority=each.priority,
            worker_group=each.worker_group,
            schedule_time=None if each.schedule_time is None else each.schedule_time.isoformat(),
            time_zone=each.time_zone,
            parent=str(each.parent),
            created_by=SUB_WORKFLOW,
            from_above="true",
        )


_RESUMES = {
    W.FAILURE: C.START_FAILURE_TASK_PROCESS,
    W.PAUSE: C.RECOVER_SUSPENDED_PROCESS,
    W.STOP: C.RECOVER_SUSPENDED_PROCESS,
}


def resume(tx: Transaction, links: Sequence[tuple[Parent, int]]) -> None:
    states: dict[WorkflowInstanceId, WorkflowState] = {}
    for parent, attempt in links:
        for row, each in _children(tx, {parent.instance}):
            if each.parent == parent:
                states[WorkflowInstanceId(row.id)] = move_child(tx, row, attempt).state
    report_at_rest(tx, {id_: None for id_, state in states.items() if state is W.SUCCESS})
    for id_, state in states.items():
        if state in _RESUMES:
            asked = {"workflow_instance_id": str(id_), "created_by": SUB_WORKFLOW, "from_above": "true"}
            commands.ask(tx, _RESUMES[state], **asked)


def halt(tx: Transaction, halts: Mapping[WorkflowInstanceId, TaskState]) -> None:
    """Their rows FOR NO KEY UPDATE, so that either a child is seen here, or the halt by the master that starts it."""
    for row, _ in rows_of(tx, halts):
        tx.lock(row)
    for row, each in _children(tx, halts):
        asked = each.requested_state or each.state
        pauses = halts[each.parent.instance] is T.PAUSE
        if each.state.is_final or asked is W.READY_STOP or (pauses and asked is W.READY_PAUSE):
            continue
        if each.ending_as is not None and not pauses:
            continue
        asked_for = {"workflow_instance_id": str(row.id), "created_by": SUB_WORKFLOW, "from_above": "true"}
        commands.ask(tx, C.PAUSE if pauses else C.STOP, **asked_for)


def report_unmade(tx: Transaction, unmade: Sequence[Unmade]) -> set[Epoch]:
    for each in unmade:
        parent = each.parent
        tell_event(tx, parent.instance, parent.code, parent.attempt, each.state, parent.index, each.reason)
    return note_owners(tx, {each.parent.instance for each in unmade})


def report_at_rest(tx: Transaction, reasons: Mapping[WorkflowInstanceId, str | None]) -> set[Epoch]:
    """A continued child reports its own end; a resting one counts as a failure if there is a reason."""
    told = set()
    for row, each in rows_of(tx, reasons):
        parent, reason = each.parent, reasons[row.id]
        if parent is None or not each.state.is_final or not rows_of(tx, [parent.instance]):
            continue
        state = W.FAILURE if each.state is W.PAUSE and reason is not None else each.state
        why = each.outputs if each.state is W.SUCCESS else reason or each.reason
        tell_event(tx, parent.instance, parent.code, parent.attempt, state, parent.index, why)
        told.add(parent.instance)
    return note_owners(tx, told)
