"""The statement of `dao/runs/after_end.py`."""

from __future__ import annotations

from collections.abc import Sequence

from model.choices import ExecutionType
from model.ids import WorkflowInstanceId
from model.runs.serial_lines import Line
from model.runs.states import WorkflowState
from tests.simulation.statements.rows import note_owners, rows_of, tell_event
from tests.simulation.statements.runs import serial_line, triggers
from tests.simulation.tables import Transaction


def notify_awaiting(tx: Transaction, ids: Sequence[WorkflowInstanceId]) -> None:
    """Notify the parents, call the line, and fire triggers. Backfills are not simulated."""
    ended = [each for _, each in rows_of(tx, ids)]
    above = [each for each in ended if each.parent is not None and rows_of(tx, [each.parent.instance])]
    for each in above:
        parent, told = each.parent, each.outputs if each.state is WorkflowState.SUCCESS else each.reason
        tell_event(tx, parent.instance, parent.code, parent.attempt, each.state, parent.index, told)
    if above:
        note_owners(tx, {each.parent.instance for each in above})
    serial = [each for each in ended if each.execution_type is not ExecutionType.PARALLEL]
    for line in sorted({Line(each.workflow_code, each.serial_key) for each in serial}):
        serial_line.call_line(tx, line)
    triggers.after_runs(tx, ids)
