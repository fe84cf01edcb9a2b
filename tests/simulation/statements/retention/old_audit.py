"""The statements of `dao/retention/old_audit.py`. A simulation has no audit."""

from __future__ import annotations

from dao.retention.old_audit import DeletedAudit
from tests.simulation.tables import Transaction


def delete(_: Transaction, after: int, kept_days: int) -> DeletedAudit:
    return DeletedAudit(0, after, True)
