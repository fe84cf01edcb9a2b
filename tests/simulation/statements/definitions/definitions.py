"""The statements of `dao/definitions/definitions.py`: what never changes, but for how many runs go on at once."""

from __future__ import annotations

from collections.abc import Collection

from dao.definitions.definitions import Definition, Whereabouts
from model.ids import ScheduleId, WorkflowCode
from model.runs.command_moves import CommandType
from tests.simulation import definitions
from tests.simulation.statements.commands import commands
from tests.simulation.tables import Transaction


def heads(_: Transaction, codes: Collection[WorkflowCode]) -> dict[WorkflowCode, Definition]:
    return {code: definitions.definition(code) for code in codes}


def to_start(
    _: Transaction,
    codes: Collection[WorkflowCode],
    schedules: Collection[ScheduleId],
    others: Collection[WorkflowCode],
) -> dict[WorkflowCode, Definition]:
    """Without rules: no run of a simulation asks for its interval."""
    return {code: definitions.definition(code) for code in codes}


def contents(_: Transaction, wanted: Collection[tuple[WorkflowCode, int]]) -> dict[tuple[WorkflowCode, int], str]:
    return {(code, version): definitions.content(code, version) for code, version in wanted}


def whereabouts(_: Transaction, codes: Collection[WorkflowCode]) -> dict[WorkflowCode, Whereabouts]:
    return {code: definitions.whereabouts(code) for code in codes}


# ------------------------------------------------------------------------------------------- what people do


def save_max_active(tx: Transaction, code: WorkflowCode, max_active: int) -> None:
    """A version with another `max_active`. If it lets more runs go on, its lines are called."""
    row = tx.server.definitions.rows[code]
    tx.lock(row)
    before = tx.see(row)
    assert before is not None
    tx.update(row, max_active=max_active)
    if max_active > before.max_active:
        commands.ask(tx, CommandType.RECOVER_SERIAL_WAIT, workflow_code=str(code), created_by="serial")
