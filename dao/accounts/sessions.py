"""`login_session`: browsers that are logged in. A request finds its session by one statement, with all its rights."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta

from dao.accounts.rows import SessionRow
from dao.postgres.pool import AsyncConnection
from dao.postgres.statements import statement
from model.accounts.rights import Role
from model.ids import AccountId, LoginSessionId

IDLE_MAX = timedelta(hours=12)
"""A session that was not used for so long has ended."""

LIVES_MAX = timedelta(days=30)
"""After that it ends, however much it is used."""

SEEN_EVERY = timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class FoundSession:
    """A session that lives, and what its account may do now."""

    id: LoginSessionId
    csrf_hash: bytes = field(repr=False)
    account: AccountId
    name: str
    is_admin: bool
    roles: Mapping[str, Role]


@statement("""
    INSERT INTO login_session (secret_hash, csrf_hash, account_id, expires_at, address, user_agent)
    VALUES (:secret_hash, :csrf_hash, :account, clock_timestamp() + :LIVES_MAX, :address, :user_agent) RETURNING id
""")
async def insert(
    connection: AsyncConnection,
    account: AccountId,
    secret_hash: bytes,
    csrf_hash: bytes,
    address: str,
    user_agent: str,
) -> LoginSessionId: ...


# index: login_session_secret. Who finds the row locked leaves last_seen_at to the other request. What was seen in the
# future was seen before the clock was set back.
@statement("""
    WITH found AS (
        SELECT s.id, s.csrf_hash, s.account_id, a.name, a.is_admin, s.last_seen_at
        FROM login_session s JOIN account a ON a.id = s.account_id
        WHERE s.secret_hash = :secret_hash AND s.expires_at > clock_timestamp()
          AND s.last_seen_at > clock_timestamp() - :IDLE_MAX AND a.disabled_at IS NULL
    ), due AS (
        SELECT s.id FROM login_session s
        WHERE s.id = (SELECT id FROM found
                      WHERE last_seen_at NOT BETWEEN clock_timestamp() - :SEEN_EVERY AND clock_timestamp())
        FOR NO KEY UPDATE SKIP LOCKED
    ), seen AS (
        UPDATE login_session SET last_seen_at = clock_timestamp() WHERE id IN (SELECT id FROM due)
    )
    SELECT id, csrf_hash, account_id, name, is_admin,
           (SELECT jsonb_object_agg(m.project, m.role) FROM project_member m WHERE m.account_id = found.account_id)
           AS roles
    FROM found
""")
async def find(connection: AsyncConnection, secret_hash: bytes) -> FoundSession | None:
    """The session with this secret, which is now used; None: unknown, expired, or of a disabled account."""


@statement("""
    SELECT id, created_at, expires_at, last_seen_at, address, user_agent FROM login_session
    WHERE account_id = :account AND expires_at > clock_timestamp() AND last_seen_at > clock_timestamp() - :IDLE_MAX
    ORDER BY last_seen_at DESC, id DESC
""")
async def of_account(connection: AsyncConnection, account: AccountId) -> Sequence[SessionRow]:
    """The sessions of an account that live, the last used first."""


@statement("""
    SELECT created_at BETWEEN clock_timestamp() - CAST(:age AS interval) AND clock_timestamp()
    FROM login_session WHERE id = :session
""")
async def is_younger(connection: AsyncConnection, session: LoginSessionId, age: timedelta) -> bool: ...


@statement("DELETE FROM login_session WHERE id = :session AND account_id = :account")
async def end(connection: AsyncConnection, account: AccountId, session: LoginSessionId) -> bool:
    """End a session of this account; whether it had it."""


@statement("DELETE FROM login_session WHERE account_id = :account AND id IS DISTINCT FROM CAST(:but AS bigint)")
async def end_all(connection: AsyncConnection, account: AccountId, but: LoginSessionId | None = None) -> int:
    """End the sessions of an account, all or all but one. Returns how many."""
