"""The statements of `dao/runs/serial_line.py`."""

from __future__ import annotations

from collections.abc import Collection

from dao.runs.serial_line import Deadlock, InLine
from model.choices import ExecutionType
from model.command_moves import CommandType
from model.ids import WorkflowCode, WorkflowInstanceId
from model.states import WorkflowState
from tests.simulation.statements.commands import commands
from tests.simulation.tables import Transaction

C, W = CommandType, WorkflowState


def lock(tx: Transaction, codes: Collection[WorkflowCode]) -> list[InLine]:
    """The definition rows FOR NO KEY UPDATE in the order of their codes, then the heads of their lines."""
    for code in sorted(set(codes)):
        tx.lock(tx.server.definitions.rows[code])
    heads = [found for code in set(codes) for found in (live(tx, code)[:1], _waiting(tx, code)[:1])]
    return sorted((each for found in heads for each in found), key=lambda each: each.id)


def live(tx: Transaction, code: WorkflowCode) -> list[InLine]:
    return [each for each, state in _standing(tx, code) if state is not W.SERIAL_WAIT]


def _waiting(tx: Transaction, code: WorkflowCode) -> list[InLine]:
    return [InLine(each.id, code, state) for each, state in _standing(tx, code) if state is W.SERIAL_WAIT]


def _standing(tx: Transaction, code: WorkflowCode) -> list[tuple[InLine, WorkflowState]]:
    """Who has not ended, oldest first, with the state in its row."""
    return [
        (InLine(row.id, code, each.requested_state or each.state), each.state)
        for row, each in sorted(tx.scan(tx.server.instances.unfinished), key=lambda one: one[0].id)
        if each.workflow_code == code and not each.state.is_final
    ]


def waiting(tx: Transaction, code: WorkflowCode, limit: int) -> list[WorkflowInstanceId]:
    return [each.id for each in _waiting(tx, code)][:limit]


def overtaken(tx: Transaction, code: WorkflowCode, limit: int) -> list[WorkflowInstanceId]:
    """Older than the newest that waits and has priority."""
    types = {each.id: tx.get(tx.server.instances, each.id) for each in _waiting(tx, code)}
    urgent = [id_ for id_, run in types.items() if run and run.execution_type is ExecutionType.SERIAL_PRIORITY]
    return [id_ for id_ in types if id_ < max(urgent, default=0)][:limit]


def anyone_waits(tx: Transaction) -> bool:
    return any(each.state is W.SERIAL_WAIT for _, each in tx.scan(tx.server.instances.unfinished))


def call_missed(tx: Transaction) -> int:
    """Serial workflows in whose lines nobody runs and whom nobody has called."""
    standing = [each for _, each in tx.scan(tx.server.instances.unfinished) if not each.state.is_final]
    waiting = {each.workflow_code for each in standing if each.state is W.SERIAL_WAIT}
    waiting -= {each.workflow_code for each in standing if each.state is not W.SERIAL_WAIT}
    called = {
        each.row.workflow_code for _, each in tx.scan(tx.server.commands.rows) if each.type is C.RECOVER_SERIAL_WAIT
    }
    calls = [code for code in sorted(waiting) if str(code) not in called]
    for code in calls:
        commands.ask(tx, C.RECOVER_SERIAL_WAIT, workflow_code=str(code), created_by="serial")
    return len(calls)


def deadlocked(_: Transaction) -> list[Deadlock]:
    """No workflow of a simulation contains itself."""
    return []
