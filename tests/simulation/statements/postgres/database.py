"""The statements of `dao/postgres/database.py`."""

from __future__ import annotations

from datetime import datetime, timedelta

from tests.simulation.tables import Transaction


def database_time(tx: Transaction) -> datetime:
    """By the database's clock."""
    return tx.server.now()


def wait_briefly(tx: Transaction, most: timedelta) -> None:
    """Nobody holds a lock for so long here that it would matter."""
