"""The statements of `dao/runs/control.py`."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence

from dao.runs.control import Locked, Revival, VersionChange
from model.choices import ExecutionType
from model.ids import CommandId, Epoch, TaskCode, WorkflowInstanceId
from model.runs.instances import WorkflowInstance
from model.runs.serial_lines import Line
from model.runs.states import WorkflowState
from tests.simulation.statements.rows import move_child, note_owners, read_instance, rows_of, tell_event
from tests.simulation.tables import Transaction, Values

W = WorkflowState


def lock(tx: Transaction, ids: Collection[WorkflowInstanceId]) -> dict[WorkflowInstanceId, Locked]:
    """FOR UPDATE in the order of the ids."""
    for row, _ in rows_of(tx, set(ids)):
        tx.lock(row)
    return {row.id: _locked(each) for row, each in rows_of(tx, set(ids))}


def _locked(each: Values) -> Locked:
    scope = each.executing or each.scope
    return Locked(
        each.id,
        each.workflow_code,
        each.workflow_version,
        each.requested_state or each.state,
        each.execution_type,
        None if scope is None else frozenset(map(TaskCode, json.loads(scope))),
        None if each.parent is None else each.parent.instance,
        each.serial_key,
        each.command_id,
        frozenset(each.resumes or ()),
        each.ending_as,
        CommandId(each.ending_after or 0),
    )


def serial_lines(tx: Transaction, ids: Collection[WorkflowInstanceId]) -> set[Line]:
    runs = [each for _, each in rows_of(tx, ids)]
    serial = (each for each in runs if each.execution_type is not ExecutionType.PARALLEL)
    return {Line(each.workflow_code, each.serial_key) for each in serial}


def ask_halt(tx: Transaction, states: Mapping[WorkflowInstanceId, WorkflowState]) -> set[Epoch]:
    for row, _ in rows_of(tx, states):
        tx.update(row, requested_state=states[row.id])
    for id_, state in states.items():
        tell_event(tx, id_, 0, 0, state)
    return note_owners(tx, states)


def end_waiting(tx: Transaction, ends: Mapping[WorkflowInstanceId, tuple[WorkflowState, str]]) -> None:
    for row, each in rows_of(tx, ends):
        if each.state is W.SERIAL_WAIT:
            state, reason = ends[row.id]
            is_held = state is W.PAUSE
            ending = {name: getattr(each, name) if is_held else None for name in ("ending_as", "ending_reason")}
            tx.update(row, state=state, reason=reason, ended_s=tx.server.now_s, **ending)


def read(tx: Transaction, id_: WorkflowInstanceId) -> WorkflowInstance:
    ((_, each),) = rows_of(tx, [id_])
    return read_instance(tx, each)


def change_version(tx: Transaction, change: VersionChange) -> None:
    """WHERE id = ...: the caller has held the row since it judged the state (`lock`)."""
    for row, _ in rows_of(tx, [change.id]):
        tx.update(
            row,
            workflow_version=change.version,
            params=change.params,
            worker_group=change.worker_group,
            environment=change.environment,
            priority=change.priority,
            failure_strategy=change.failure_strategy,
        )


def revive(tx: Transaction, revivals: Sequence[Revival], master: Epoch) -> dict[WorkflowInstanceId, WorkflowInstance]:
    """WHERE id = ...: the caller has held the row since it judged the state (`lock`)."""
    revived = {}
    for each in revivals:
        for row, before in rows_of(tx, [each.id]):
            if before.parent is not None and each.parent is not None:
                move_child(tx, row, each.parent.attempt)
            executing = None if each.executing is None else json.dumps(sorted(each.executing))
            after = tx.update(
                row,
                state=W.SERIAL_WAIT if each.waits else W.RUNNING_EXECUTION,
                master_id=Epoch(0) if each.waits else master,
                ended_s=None,
                reason=None,
                requested_state=None,
                running_since_s=tx.server.now_s,
                takeovers=0,
                owned_s=tx.server.now_s,
                outputs=None,
                run_times=before.run_times + each.repeats,
                executing=before.executing if each.keeps_executing else executing,
                resumes=sorted(each.resumes) if each.waits else None,
                ending_as=before.ending_as if each.keeps_ending else None,
                ending_reason=before.ending_reason if each.keeps_ending else None,
            )
            revived[each.id] = read_instance(tx, after)
    return revived
