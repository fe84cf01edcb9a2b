"""`login_link`: a login without a password, once and soon. Of two uses at once one wins."""

from __future__ import annotations

from datetime import timedelta

from dao.postgres.pool import AsyncConnection
from dao.postgres.statements import statement
from model.ids import AccountId


@statement("""
    INSERT INTO login_link (secret_hash, account_id, expires_at)
    VALUES (:secret_hash, :account, clock_timestamp() + :lives)
""")
async def insert(connection: AsyncConnection, account: AccountId, secret_hash: bytes, lives: timedelta) -> None: ...


# A login that ended as one by a link does: once.
@statement("""
    INSERT INTO login_link (secret_hash, account_id, expires_at, used_at)
    VALUES (:secret_hash, :account, clock_timestamp() + :lives, clock_timestamp())
    ON CONFLICT (secret_hash) DO NOTHING
""")
async def insert_used(connection: AsyncConnection, account: AccountId, secret_hash: bytes, lives: timedelta) -> bool:
    """Note that this secret has begun a session of an account; whether it had begun none yet."""


# A link of the future was made before the clock was set back: it would be valid for too long, so it is not valid. The
# second of two waits for the first, sees used_at then, and finds nothing.
@statement("""
    UPDATE login_link SET used_at = clock_timestamp()
    FROM account a
    WHERE secret_hash = :secret_hash AND used_at IS NULL AND expires_at > clock_timestamp()
      AND login_link.created_at <= clock_timestamp()
      AND a.id = account_id AND a.disabled_at IS NULL
    RETURNING account_id
""")
async def use(connection: AsyncConnection, secret_hash: bytes) -> AccountId | None:
    """The account that this link logs in, once; None: unknown, used, expired, or of a disabled account."""


# Once: of two that give it one finds nothing.
@statement("""
    DELETE FROM login_link
    WHERE secret_hash = :secret_hash AND account_id = :account AND used_at IS NOT NULL
      AND expires_at > clock_timestamp()
""")
async def take_used(connection: AsyncConnection, account: AccountId, secret_hash: bytes) -> bool:
    """Whether this link has logged the account in and would still be valid. It counts once, and is deleted."""


@statement("DELETE FROM login_link WHERE account_id = :account")
async def delete_all(connection: AsyncConnection, account: AccountId) -> None:
    """The account's links no longer log anybody in, and those that did prove nothing."""
