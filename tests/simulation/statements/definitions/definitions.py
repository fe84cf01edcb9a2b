"""The statements of `dao/definitions/definitions.py`: what never changes."""

from __future__ import annotations

from collections.abc import Collection

from dao.definitions.definitions import Definition, Whereabouts
from model.ids import ScheduleId, WorkflowCode
from tests.simulation import definitions
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
