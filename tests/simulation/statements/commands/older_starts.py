"""The statement of `dao/commands/older_starts.py`."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from model.ids import CommandId, WorkflowCode, WorkflowInstanceId
from model.runs.command_moves import STARTING
from model.runs.commands import CommandRow, read_parent
from tests.simulation.tables import Transaction


def older_starts(
    tx: Transaction, before: Mapping[WorkflowCode, CommandId], limit: int
) -> list[tuple[CommandRow, str | None]]:
    """Includes commands that others have taken and not committed."""
    if not tx.server.protections.older:
        return []
    rows = sorted((each.row for _, each in tx.scan(tx.server.commands.rows)), key=lambda row: row.id)
    return [
        (row, _above(tx, row))
        for code, command in before.items()
        for row in [each for each in rows if _is_start(each, code) and each.id < command][:limit]
    ]


def parameters_above(tx: Transaction, runs: Collection[WorkflowInstanceId]) -> dict[WorkflowInstanceId, str | None]:
    return {id_: run.params for id_ in runs if (run := tx.get(tx.server.instances, id_)) is not None}


def backlogs(tx: Transaction, least: Mapping[WorkflowCode, int]) -> set[WorkflowCode]:
    """Includes commands that others have taken and not committed."""
    rows = [each.row for _, each in tx.scan(tx.server.commands.rows)]
    return {code for code, count in least.items() if sum(_is_start(row, code) for row in rows) >= count}


def _is_start(row: CommandRow, code: WorkflowCode) -> bool:
    return row.type in STARTING and row.workflow_code == str(code)


def _above(tx: Transaction, row: CommandRow) -> str | None:
    parent = read_parent(row.parent)
    run = tx.get(tx.server.instances, parent.instance) if parent else None
    return run.params if run else None
