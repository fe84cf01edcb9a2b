"""The statements of `dao/definitions/files.py`: here no project has files."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import timedelta

from tests.simulation.tables import Transaction


def contents(tx: Transaction, wanted: Collection[str]) -> Mapping[str, bytes]:
    return {}


def delete_unnamed(tx: Transaction, kept: timedelta, limit: int) -> int:
    return 0
