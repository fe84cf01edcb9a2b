"""The statements of `dao/definitions/references.py`."""

from __future__ import annotations

from model.ids import WorkflowCode
from tests.simulation.definitions import DATED, WAITING, awaited
from tests.simulation.statements.runs.dependencies import waits
from tests.simulation.tables import Transaction


def needed_by_dependents(tx: Transaction) -> tuple[set[WorkflowCode], set[WorkflowCode]]:
    """All that any DEPENDENT task names: no run lasts for as long as a cycle. And what has dates."""
    waiting = {task.workflow_instance_id for _, task in tx.scan(tx.server.tasks.unfinished) if waits(task)}
    runs = [run for id_ in waiting if (run := tx.get(tx.server.instances, id_)) is not None]
    named = {WorkflowCode(each) for code in WAITING for each in awaited(code)} | {WorkflowCode(code) for code in DATED}
    return named, {run.workflow_code for run in runs if run.workflow_code in DATED}
