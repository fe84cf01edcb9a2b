"""`idempotency_key`: the first answer to a request that may be repeated, for 24 hours.

`begin` comes first and `finish` last in the transaction that makes the change. A request whose process was killed left
neither a change nor a key; one whose answer was lost left both.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

from model.errors import Refused

KEPT = timedelta(hours=24)
KEY_BYTES_MAX = 255


@dataclass(frozen=True, slots=True)
class Answer:
    """What the first request was answered: status, headers, body."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class StillRunning(Refused):
    """The first request with this key has not been answered yet."""


class OtherRequest(Refused):
    """The key belongs to another request."""


# Held until the transaction ends; a second request is refused at once, instead of waiting.
_LOCK = text("SELECT pg_try_advisory_xact_lock(hashtextextended(:actor || ' ' || :key, 2))")
_FIND = text("""
    SELECT request_hash, status, headers, body FROM idempotency_key
    WHERE actor = :actor AND key = :key AND created_at > clock_timestamp() - :kept
""")
# It replaces a key that has expired and was not deleted yet.
_PUT = text("""
    INSERT INTO idempotency_key (actor, key, request_hash, status, headers, body)
    VALUES (:actor, :key, :request_hash, :status, CAST(:headers AS jsonb), :body)
    ON CONFLICT (actor, key) DO UPDATE SET request_hash = excluded.request_hash, created_at = clock_timestamp(),
        status = excluded.status, headers = excluded.headers, body = excluded.body
""")


async def begin(connection: AsyncConnection, actor: str, key: str, request_hash: bytes) -> Answer | None:
    """The answer that this request has had; None: it is new, and nobody else makes it until the transaction ends.

    Args:
        connection: of the transaction that makes the change.
        actor: whose key it is.
        key: as the caller chose it.
        request_hash: SHA-256 of method, path and body.

    Raises:
        StillRunning: the first request is under way.
        OtherRequest: the first request was another one.
        Refused: the key is empty or too long.
    """
    if not key.isprintable() or not 0 < len(key.encode()) <= KEY_BYTES_MAX:
        raise Refused(f"an idempotency key has 1 to {KEY_BYTES_MAX} bytes of printable text; send a random UUID")
    named = {"actor": actor, "key": key}
    if not (await connection.execute(_LOCK, named)).scalar_one():
        raise StillRunning("the first request with this idempotency key is still under way; ask again in a second")
    row = (await connection.execute(_FIND, {**named, "kept": KEPT})).first()
    if row is None:
        return None
    if row.request_hash != request_hash:
        raise OtherRequest(
            "this idempotency key was used for another request in the last 24 hours; use a new key for each request"
        )
    return Answer(row.status, row.headers, row.body)


async def finish(connection: AsyncConnection, actor: str, key: str, request_hash: bytes, answer: Answer) -> None:
    """Record the answer; `begin` came before in this transaction."""
    values = {"status": answer.status, "headers": json.dumps(dict(answer.headers)), "body": answer.body}
    await connection.execute(_PUT, {"actor": actor, "key": key, "request_hash": request_hash, **values})
