"""Rows about logins and requests that count no more: deleted in small batches, by any process that serves people."""

from __future__ import annotations

from datetime import timedelta

from sqlalchemy import text

from dao.accounts.idempotency import KEPT
from dao.accounts.sessions import IDLE_MAX
from dao.postgres.engine import AsyncConnection
from model.login_limits import WINDOW

BATCH_MAX = 1_000

_LINKS_KEPT = timedelta(days=1)
_OPERATIONS_KEPT = timedelta(days=30)
# statement_timestamp: an index is searched by a time that does not move.
_DELETE = """
    DELETE FROM {table} WHERE {key} IN (
        SELECT {columns} FROM {table} WHERE {time} < statement_timestamp() - CAST(:age AS interval)
        ORDER BY {time} LIMIT :limit FOR UPDATE SKIP LOCKED
    )
"""
_STATEMENTS = [
    (text(_DELETE.format(table=table, key=key, columns=key.strip("()"), time=time)), age)
    for table, key, time, age in (
        ("login_attempt", "id", "at", WINDOW),
        ("login_link", "secret_hash", "expires_at", _LINKS_KEPT),
        ("login_session", "id", "expires_at", timedelta(0)),
        ("login_session", "id", "last_seen_at", IDLE_MAX),
        ("idempotency_key", "(actor, key)", "created_at", KEPT),
        ("bulk_operation", "id", "ended_at", _OPERATIONS_KEPT),
    )
]


async def delete(connection: AsyncConnection, limit: int = BATCH_MAX) -> int:
    """Delete at most `limit` rows of each kind that count no more. Returns how many."""
    done = [await connection.execute(statement, {"age": age, "limit": limit}) for statement, age in _STATEMENTS]
    return sum(result.rowcount for result in done)
