"""The statements of `dao/postgres/database.py`."""

from __future__ import annotations

from datetime import datetime, timedelta

from tests.simulation.tables import Transaction


def database_time(tx: Transaction) -> datetime:
    return tx.server.now()


def wait_briefly(tx: Transaction, most: timedelta) -> None:
    """Do nothing: no lock here is held long enough to matter."""
