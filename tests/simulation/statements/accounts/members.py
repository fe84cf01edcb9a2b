"""The statement of `dao/accounts/members.py` that a master uses: no project of the simulation is limited."""

from __future__ import annotations

from collections.abc import Collection

from dao.accounts.members import LimitedRun
from model.ids import WorkflowInstanceId
from tests.simulation.tables import Transaction


def limited_runs(_: Transaction, _runs: Collection[WorkflowInstanceId]) -> list[LimitedRun]:
    return []
