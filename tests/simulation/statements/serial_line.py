"""The statements of `dao/serial_line.py`."""

from __future__ import annotations

from collections.abc import Collection

from dao.serial_line import InLine
from model.command_moves import CommandType
from model.ids import WorkflowCode
from model.states import WorkflowState
from tests.simulation.statements import commands
from tests.simulation.tables import Transaction

C, W = CommandType, WorkflowState


def lock(tx: Transaction, codes: Collection[WorkflowCode]) -> list[InLine]:
    """The definition rows FOR NO KEY UPDATE in the order of their codes, then who stands in their lines."""
    for code in sorted(set(codes)):
        tx.lock(tx.server.definitions.rows[code])
    return [
        InLine(row.id, each.workflow_code, each.requested_state or each.state)
        for row, each in sorted(tx.scan(tx.server.instances.unfinished), key=lambda one: one[0].id)
        if each.workflow_code in codes and not each.state.is_final
    ]


def anyone_waits(tx: Transaction) -> bool:
    return any(each.state is W.SERIAL_WAIT for _, each in tx.scan(tx.server.instances.unfinished))


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
        commands.ask(tx, C.RECOVER_SERIAL_WAIT, workflow_code=str(code), created_by="serial")
    return len(calls)
