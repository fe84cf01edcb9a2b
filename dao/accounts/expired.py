"""Rows about logins and requests that count no more: deleted in small batches, by any process that serves people."""

from __future__ import annotations

from datetime import timedelta

from dao.accounts.idempotency import KEPT
from dao.accounts.sessions import IDLE_MAX
from dao.postgres.pool import AsyncConnection
from dao.postgres.sql import Sql
from model.accounts.login_limits import WINDOW

BATCH_MAX = 1_000

_LINKS_KEPT = timedelta(days=1)
_OPERATIONS_KEPT = timedelta(days=30)
# statement_timestamp: an index is searched by a time that does not move.
_STATEMENTS = [
    (
        Sql("""
            DELETE FROM login_attempt WHERE id IN (
                SELECT id FROM login_attempt                    -- index: login_attempt_at
                WHERE at < statement_timestamp() - CAST(:age AS interval)
                ORDER BY at LIMIT :limit FOR UPDATE SKIP LOCKED
            )
        """),
        WINDOW,
    ),
    (
        Sql("""
            DELETE FROM login_link WHERE secret_hash IN (
                SELECT secret_hash FROM login_link              -- index: login_link_expires
                WHERE expires_at < statement_timestamp() - CAST(:age AS interval)
                ORDER BY expires_at LIMIT :limit FOR UPDATE SKIP LOCKED
            )
        """),
        _LINKS_KEPT,
    ),
    (
        Sql("""
            DELETE FROM login_session WHERE id IN (
                SELECT id FROM login_session                    -- index: login_session_expires
                WHERE expires_at < statement_timestamp() - CAST(:age AS interval)
                ORDER BY expires_at LIMIT :limit FOR UPDATE SKIP LOCKED
            )
        """),
        timedelta(0),
    ),
    (
        Sql("""
            DELETE FROM login_session WHERE id IN (
                SELECT id FROM login_session                    -- index: login_session_seen
                WHERE last_seen_at < statement_timestamp() - CAST(:age AS interval)
                ORDER BY last_seen_at LIMIT :limit FOR UPDATE SKIP LOCKED
            )
        """),
        IDLE_MAX,
    ),
    (
        Sql("""
            DELETE FROM idempotency_key WHERE (actor, key) IN (
                SELECT actor, key FROM idempotency_key          -- index: idempotency_key_created
                WHERE created_at < statement_timestamp() - CAST(:age AS interval)
                ORDER BY created_at LIMIT :limit FOR UPDATE SKIP LOCKED
            )
        """),
        KEPT,
    ),
    (
        Sql("""
            DELETE FROM bulk_operation WHERE id IN (
                SELECT id FROM bulk_operation                   -- index: bulk_operation_ended
                WHERE ended_at < statement_timestamp() - CAST(:age AS interval)
                ORDER BY ended_at LIMIT :limit FOR UPDATE SKIP LOCKED
            )
        """),
        _OPERATIONS_KEPT,
    ),
]


async def delete(connection: AsyncConnection, limit: int = BATCH_MAX) -> int:
    """Delete at most `limit` rows of each kind that count no more. Returns how many."""
    done = [await connection.execute(statement, {"age": age, "limit": limit}) for statement, age in _STATEMENTS]
    return sum(result.rowcount for result in done)
