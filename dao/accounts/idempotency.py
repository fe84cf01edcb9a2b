"""`idempotency_key`: the first answer to a request that may be repeated, for 24 hours.

`begin` comes first and `finish` last in the transaction that makes the change. A request whose process was killed left
neither a change nor a key; one whose answer was lost left both.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta

from dao.postgres.pool import AsyncConnection
from dao.postgres.row_arrays import RowArrays
from dao.postgres.sql import Sql
from model.errors import OtherRequest, Refused, StillRunning

KEPT = timedelta(hours=24)
KEY_BYTES_MAX = 255


@dataclass(frozen=True, slots=True)
class Answer:
    """What the first request was answered: status, headers, body."""

    status: int
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True, slots=True)
class KeyedRequest:
    """A request with a key: whose key it is, as the caller chose it, and SHA-256 of method, path and body."""

    actor: str
    key: str
    hash: bytes

    @property
    def name(self) -> tuple[str, str]:
        """Under which its answer is stored."""
        return self.actor, self.key

    @property
    def is_valid(self) -> bool:
        """Whether its key is neither empty nor too long."""
        return self.key.isprintable() and 0 < len(self.key.encode()) <= KEY_BYTES_MAX


# Held until the transaction ends; a second request is refused at once, instead of waiting. A statement apart from the
# next one, which would otherwise not see what the last holder of the lock has committed.
_LOCK = Sql("""
    SELECT n.actor, n.key, pg_try_advisory_xact_lock(hashtextextended(n.actor || ' ' || n.key, 2)) AS is_free
    FROM unnest(CAST(:actors AS text[]), CAST(:keys AS text[])) AS n (actor, key)
""")
# index: idempotency_key_pkey, once for each; with a plain join the planner may read the whole table.
_FIND = Sql("""
    SELECT k.*
    FROM unnest(CAST(:actors AS text[]), CAST(:keys AS text[])) AS n (actor, key)
    CROSS JOIN LATERAL (
        SELECT actor, key, request_hash, status, headers, body FROM idempotency_key
        WHERE actor = n.actor AND key = n.key AND created_at > clock_timestamp() - :kept
        LIMIT 1
    ) k
""")
# It replaces a key that has expired and was not deleted yet.
_PUT = Sql("""
    INSERT INTO idempotency_key (actor, key, request_hash, status, headers, body)
    SELECT actor, key, request_hash, status, headers, body
    FROM unnest(CAST(:0.actor AS text[]), CAST(:0.key AS text[]), CAST(:0.hash AS bytea[]),
                CAST(:1.status AS smallint[]), CAST(:headers AS jsonb[]), CAST(:1.body AS bytea[]))
         AS n (actor, key, request_hash, status, headers, body)
    ON CONFLICT (actor, key) DO UPDATE SET request_hash = excluded.request_hash, created_at = clock_timestamp(),
        status = excluded.status, headers = excluded.headers, body = excluded.body
""")
_ROWS = RowArrays(_PUT, {"headers": lambda row: json.dumps(dict(row[1].headers))})


async def begin(connection: AsyncConnection, request: KeyedRequest) -> Answer | None:
    """The answer that this request has had; None: it is new, and nobody else makes it until the transaction ends.

    `connection` is that of the transaction that makes the change.

    Raises:
        StillRunning: the first request is under way.
        OtherRequest: the first request was another one.
        Refused: the key is empty or too long.
    """
    outcome = (await begin_all(connection, [request]))[0]
    if isinstance(outcome, Refused):
        raise outcome
    return outcome


async def begin_all(connection: AsyncConnection, requests: Sequence[KeyedRequest]) -> list[Answer | Refused | None]:
    """The same for several, in their order; what `begin` raises for one stands in its place.

    Of two new ones with the same key the first is still running for the second: the lock belongs to the transaction of
    both.
    """
    first = {request.name: request for request in reversed(requests) if request.is_valid}
    if not first:
        return [_malformed() for _ in requests]
    named = {"actors": [actor for actor, _ in first], "keys": [key for _, key in first]}
    locks = (await connection.execute(_LOCK, named)).all()
    free = {(row.actor, row.key) for row in locks if row.is_free}
    rows = (await connection.execute(_FIND, {**named, "kept": KEPT})).all()
    found = {(row.actor, row.key): row for row in rows}

    def outcome(request: KeyedRequest) -> Answer | Refused | None:
        if not request.is_valid:
            return _malformed()
        row = found.get(request.name)
        if request.name not in free or (row is None and first[request.name] is not request):
            return StillRunning("the first request with this idempotency key is still under way; ask again in a second")
        if row is None:
            return None
        if row.request_hash != request.hash:
            return OtherRequest(
                "this idempotency key was used for another request in the last 24 hours; use a new key for each request"
            )
        return Answer(row.status, row.headers, row.body)

    return [outcome(request) for request in requests]


async def finish(connection: AsyncConnection, answers: Sequence[tuple[KeyedRequest, Answer]]) -> None:
    """Record the answers; `begin` or `begin_all` came before in this transaction."""
    if answers:
        await connection.execute(_PUT, _ROWS.values(answers))


def _malformed() -> Refused:
    return Refused(f"an idempotency key has 1 to {KEY_BYTES_MAX} bytes of printable text; send a random UUID")
