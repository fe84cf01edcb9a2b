"""The statements of `dao/tasks/task_progress.py`."""

from __future__ import annotations

from collections.abc import Sequence

from dao.tasks.task_progress import Reported
from model.ids import Epoch
from tests.simulation.tables import Transaction


def record(tx: Transaction, reported: Sequence[Reported], worker: Epoch) -> None:
    """Do nothing: no task reports progress, and no decision reads it."""
