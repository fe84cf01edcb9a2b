"""Audit rows whose time is over. A master may delete them by a function of the database only, which checks the time."""

from __future__ import annotations

from dataclasses import dataclass

from dao.postgres.database import FencedTransaction
from dao.postgres.statements import statement
from model.runs import retention_pace

READ_MAX = retention_pace.READ_MAX


@dataclass(frozen=True, slots=True)
class DeletedAudit:
    """How many rows were deleted; `after`: up to which id they were read, `is_over`: no later one is old enough."""

    count: int
    after: int
    is_over: bool


@statement("SELECT deleted, last_id, is_over FROM delete_old_audit(:after, CAST(:kept_days AS integer), :READ_MAX)")
async def delete(connection: FencedTransaction, after: int, kept_days: int) -> DeletedAudit:
    """Read the next rows by id, and delete those whose time is over; see `old_commands.delete`."""
