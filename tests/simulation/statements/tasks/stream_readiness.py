"""The statement of `dao/tasks/stream_readiness.py`."""

from __future__ import annotations

from collections.abc import Sequence

from dao.tasks.stream_readiness import Probed
from model.ids import Epoch
from tests.simulation.tables import Transaction


def record(tx: Transaction, probed: Sequence[Probed], worker: Epoch) -> None:
    """No stream of a simulation has a probe."""
