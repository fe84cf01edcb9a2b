"""The statements of `dao/alerts/alerts.py`: for people, no master reads what they write."""

from __future__ import annotations

from collections.abc import Sequence

from dao.alerts.alerts import Missed
from model.alerts.alerts import NewAlert
from model.ids import Epoch, WorkflowInstanceId
from tests.simulation.tables import Transaction


def run_takes_too_long(tx: Transaction, id_: WorkflowInstanceId, minutes: float, master: Epoch) -> None:
    """INSERT INTO alert."""


def schedules_missed(tx: Transaction, missed: Sequence[Missed]) -> None:
    """INSERT INTO alert."""


def insert(_: Transaction, new: Sequence[NewAlert]) -> None:
    """Nothing."""
