"""The statement of `dao/dependencies.py` that is asked without any DEPENDENT task: none waits in a simulation."""

from __future__ import annotations

from dao.dependencies import WaitingTask
from model.ids import Epoch, TaskInstanceId
from tests.simulation.tables import Transaction


def waiting(_: Transaction, master: Epoch, limit: int, after: TaskInstanceId) -> list[WaitingTask]:
    return []
