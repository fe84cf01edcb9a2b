"""The statements of `dao/cluster/slot_changes.py`: for people, no master reads them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import timedelta

from model.ids import Epoch
from tests.simulation.tables import Transaction


def record(tx: Transaction, masters: Sequence[Epoch], busy: Collection[Epoch]) -> None:
    """INSERT INTO slot_change."""


def delete_old(tx: Transaction, kept: timedelta, limit: int) -> int:
    """There are none."""
    return 0
