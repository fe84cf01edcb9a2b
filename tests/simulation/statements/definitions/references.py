"""The statements of `dao/definitions/references.py`."""

from __future__ import annotations

from model.ids import WorkflowCode
from tests.simulation.definitions import WAITING, awaited
from tests.simulation.tables import Transaction


def needed_by_dependents(_: Transaction) -> tuple[set[WorkflowCode], set[WorkflowCode]]:
    """All that any DEPENDENT task names: no run lasts for as long as a cycle."""
    return {WorkflowCode(each) for code in WAITING for each in awaited(code)}, set()
