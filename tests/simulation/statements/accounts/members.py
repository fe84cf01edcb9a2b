"""The statements of `dao/accounts/members.py` that nodes use: no project of the simulation is limited."""

from __future__ import annotations

from collections.abc import Collection

from dao.accounts.members import LimitedRun
from model.accounts.project_limits import NO_LIMITS, ProjectLimits
from model.ids import WorkflowCode, WorkflowInstanceId
from tests.simulation.tables import Transaction


def limited_runs(_: Transaction, runs: Collection[WorkflowInstanceId]) -> list[LimitedRun]:
    return []


def of_workflow(_: Transaction, code: WorkflowCode) -> tuple[str, ProjectLimits]:
    return "default", NO_LIMITS
