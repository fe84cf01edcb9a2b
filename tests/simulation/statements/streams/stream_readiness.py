"""The statement of `dao/streams/stream_readiness.py`."""

from __future__ import annotations

from collections.abc import Sequence

from dao.streams.stream_readiness import Probed
from model.ids import Epoch
from tests.simulation.tables import Transaction


def record(tx: Transaction, probed: Sequence[Probed], worker: Epoch) -> None:
    """No stream of a simulation has a probe."""
