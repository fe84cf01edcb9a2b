"""The statements of `dao/instance_moves.py` and `dao/serial_line.py`, under the same names."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence

from dao.instance_moves import Locked, Revival
from dao.serial_line import InLine
from model.choices import ExecutionType
from model.command_moves import CommandType
from model.ids import Epoch, WorkflowCode, WorkflowInstanceId
from model.instances import Parent, WorkflowInstance
from model.states import TaskState, WorkflowState
from tests.simulation.statements import commands
from tests.simulation.statements.instances import WAITING, note_owners, read_instance, rows_of, tell_event
from tests.simulation.tables import Transaction

C, T, W = CommandType, TaskState, WorkflowState


def lock(tx: Transaction, ids: Collection[WorkflowInstanceId]) -> dict[WorkflowInstanceId, Locked]:
    """FOR UPDATE in the order of the ids."""
    for row, _ in rows_of(tx, set(ids)):
        tx.lock(row)
    return {
        row.id: Locked(
            row.id, each.workflow_code, each.workflow_version, each.requested_state or each.state, each.execution_type
        )
        for row, each in rows_of(tx, set(ids))
    }


def serial_codes(tx: Transaction, ids: Collection[WorkflowInstanceId]) -> set[WorkflowCode]:
    return {each.workflow_code for _, each in rows_of(tx, ids) if each.execution_type is not ExecutionType.PARALLEL}


def ask_halt(tx: Transaction, states: Mapping[WorkflowInstanceId, WorkflowState]) -> None:
    for row, _ in rows_of(tx, states):
        tx.update(row, requested_state=states[row.id])
    for id_, state in states.items():
        tell_event(tx, id_, 0, 0, state)
    note_owners(tx, states)


def end_waiting(tx: Transaction, ends: Mapping[WorkflowInstanceId, tuple[WorkflowState, str]]) -> None:
    for row, each in rows_of(tx, ends):
        if each.state in WAITING:
            state, reason = ends[row.id]
            tx.update(row, state=state, reason=reason)


def revive(tx: Transaction, revivals: Sequence[Revival], master: Epoch) -> dict[WorkflowInstanceId, WorkflowInstance]:
    """WHERE id = ...: whoever revives holds the row since it judged its state (`lock`)."""
    revived = {}
    for each in revivals:
        for row, before in rows_of(tx, [each.id]):
            parent = before.parent
            if parent is not None and each.parent is not None:
                parent = Parent(parent.instance, parent.code, each.parent.attempt, parent.index)
            executing = None if each.executing is None else json.dumps(sorted(each.executing))
            after = tx.update(
                row,
                state=W.RUNNING_EXECUTION,
                master_id=master,
                reason=None,
                requested_state=None,
                takeovers=0,
                outputs=None,
                run_times=before.run_times + each.repeats,
                executing=before.executing if each.keeps_executing else executing,
                parent=parent,
            )
            revived[each.id] = read_instance(after)
    return revived


def lock_line(tx: Transaction, codes: Collection[WorkflowCode]) -> list[InLine]:
    """`serial_line.lock`: the definition rows FOR NO KEY UPDATE, then who stands in their lines."""
    for code in sorted(set(codes)):
        tx.lock(tx.server.definitions.rows[code])
    return [
        InLine(row.id, each.workflow_code, each.requested_state or each.state)
        for row, each in tx.scan(tx.server.instances.unfinished)
        if each.workflow_code in codes and not each.state.is_final
    ]


def anyone_waits(tx: Transaction) -> bool:
    return any(each.state in (W.SERIAL_WAIT, W.WAIT_TO_RUN) for _, each in tx.scan(tx.server.instances.unfinished))


def call_forgotten(tx: Transaction) -> int:
    """Serial workflows in whose lines nobody runs and whom nobody has called."""
    standing = [each for _, each in tx.scan(tx.server.instances.unfinished) if not each.state.is_final]
    waiting = {each.workflow_code for each in standing if each.state is W.SERIAL_WAIT}
    waiting -= {each.workflow_code for each in standing if each.state is not W.SERIAL_WAIT}
    called = {
        each.row.workflow_code for _, each in tx.scan(tx.server.commands.rows) if each.type is C.RECOVER_SERIAL_WAIT
    }
    calls = [code for code in sorted(waiting) if str(code) not in called]
    for code in calls:
        commands.insert(tx, C.RECOVER_SERIAL_WAIT, workflow_code=str(code))
    return len(calls)
