"""`account`: who may log in. Changed by compare-and-set on its version; never deleted, since the audit names it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from dao.accounts.rows import Account
from dao.postgres.pool import AsyncConnection
from dao.postgres.sql import Sql
from dao.postgres.statements import missing, statement
from model.accounts.accounts import sent_name
from model.errors import Changed, NotFound, Refused
from model.ids import AccountId


@dataclass(frozen=True, slots=True)
class Credentials:
    """What a login by password is checked against."""

    account: AccountId
    name: str
    password_hash: str | None = field(repr=False)


# Of several that make the first account one at a time: the others then see its account.
_ONE_AT_A_TIME = Sql("SELECT pg_advisory_xact_lock(hashtext('shoal first account'))")
_NONE_YET = Sql("SELECT NOT EXISTS (SELECT FROM account)")
_BY_NAME = Sql("""
    SELECT id, name, is_admin, password_hash IS NOT NULL AS has_password, version, created_at, disabled_at, issuer
    FROM account WHERE lower(name) = lower(:name)
""")
_LOCK = Sql("SELECT FROM account WHERE id = :id FOR UPDATE")
# Enabled only, so that nothing differs between a disabled account and none.
_CREDENTIALS = Sql("""
    SELECT id, name, password_hash FROM account WHERE lower(name) = lower(:name) AND disabled_at IS NULL
""")
_CHANGE = Sql("""
    UPDATE account SET
        is_admin = coalesce(CAST(:is_admin AS boolean), is_admin),
        disabled_at = CASE WHEN CAST(:disabled AS boolean) IS NULL THEN disabled_at
                           WHEN :disabled THEN coalesce(disabled_at, clock_timestamp()) END,
        password_hash = coalesce(CAST(:password_hash AS text), password_hash),
        version = version + 1
    WHERE id = :id AND version = :version
    RETURNING id, name, is_admin, password_hash IS NOT NULL AS has_password, version, created_at, disabled_at, issuer
""")
# Of several logins of one identity one at a time: it has an account then, or gets one.
_ONE_LOGIN = Sql("SELECT pg_advisory_xact_lock(hashtext('shoal identity ' || CAST(:subject AS text)))")
_OF_IDENTITY = Sql("SELECT id FROM account WHERE issuer = :issuer AND subject = :subject")
# Not one that others have the key of: who chooses a name at the provider would be whom it names here.
_LINK = Sql("""
    UPDATE account SET issuer = :issuer, subject = :subject, version = version + 1
    WHERE lower(name) = lower(:name) AND password_hash IS NULL AND NOT is_admin AND issuer IS DISTINCT FROM :issuer
    RETURNING id
""")


async def none_yet(connection: AsyncConnection) -> bool:
    """Whether there is no account; until the transaction ends, other transactions wait for the answer."""
    await connection.execute(_ONE_AT_A_TIME)
    return bool((await connection.execute(_NONE_YET)).scalar_one())


@missing('there is an account "{name}" already; choose another name', Refused)
@statement("""
    INSERT INTO account (name, is_admin, password_hash) VALUES (:name, :is_admin, :password_hash)
    ON CONFLICT (lower(name)) DO NOTHING
    RETURNING id, name, is_admin, password_hash IS NOT NULL AS has_password, version, created_at, disabled_at, issuer
""")
async def insert(connection: AsyncConnection, name: str, is_admin: bool, password_hash: str | None = None) -> Account:
    """Add an account. Raises `Refused`: the name is taken, in upper or lower case."""


async def exists(connection: AsyncConnection, name: str) -> bool:
    """Whether there is an account of this name, in upper or lower case."""
    return (await connection.execute(_BY_NAME, {"name": sent_name(name)})).first() is not None


async def by_name(connection: AsyncConnection, name: str) -> Account:
    """The account of this name, in upper or lower case. Raises `NotFound`."""
    row = (await connection.execute(_BY_NAME, {"name": sent_name(name)})).first()
    if row is None:
        raise NotFound(f'there is no account "{sent_name(name)}"; `shoal user list` shows those there are')
    return Account(*row)


@missing("there is no account {account}; `shoal user list` shows those there are")
@statement("""
    SELECT id, name, is_admin, password_hash IS NOT NULL AS has_password, version, created_at, disabled_at, issuer
    FROM account WHERE id = :account
""")
async def by_id(connection: AsyncConnection, account: AccountId) -> Account:
    """Raises `NotFound`."""


async def held(connection: AsyncConnection, account: AccountId) -> Account:
    """The account, which nobody else changes until the transaction ends. Raises `NotFound`."""
    await connection.execute(_LOCK, {"id": account})
    return await by_id(connection, account)


async def credentials(connection: AsyncConnection, name: str) -> Credentials | None:
    """Of the enabled account of this name, in upper or lower case; None if there is none."""
    row = (await connection.execute(_CREDENTIALS, {"name": sent_name(name)})).first()
    return None if row is None else Credentials(*row)


@statement("""
    SELECT id, name, is_admin, password_hash IS NOT NULL AS has_password, version, created_at, disabled_at, issuer
    FROM account WHERE id > coalesce(CAST(:after AS bigint), 0) ORDER BY id LIMIT :limit
""")
async def page(connection: AsyncConnection, after: AccountId | None, limit: int) -> Sequence[Account]:
    """The `limit` accounts after this one, by id."""


async def change(
    connection: AsyncConnection,
    account: AccountId,
    version: int,
    *,
    is_admin: bool | None = None,
    disabled: bool | None = None,
    password_hash: str | None = None,
) -> Account:
    """Change what is not None. Raises `Changed` if the account has no longer this version, `NotFound`."""
    values = {"is_admin": is_admin, "disabled": disabled, "password_hash": password_hash}
    row = (await connection.execute(_CHANGE, {"id": account, "version": version, **values})).first()
    if row is None:
        now = await by_id(connection, account)
        raise Changed(f'somebody else changed the account "{now.name}" meanwhile; read it again, then change it')
    return Account(*row)


async def of_identity(connection: AsyncConnection, issuer: str, subject: str) -> AccountId | None:
    """The account of an identity; until the transaction ends, other transactions wait for it."""
    await connection.execute(_ONE_LOGIN, {"subject": subject})
    found = (await connection.execute(_OF_IDENTITY, {"issuer": issuer, "subject": subject})).scalar()
    return None if found is None else AccountId(found)


async def link(connection: AsyncConnection, name: str, issuer: str, subject: str) -> AccountId | None:
    """Give an identity to the account of this name; None: there is none that may have it.

    It has no password, is no admin's, and has no other identity of this issuer.
    """
    values = {"name": sent_name(name), "issuer": issuer, "subject": subject}
    found = (await connection.execute(_LINK, values)).scalar()
    return None if found is None else AccountId(found)


@statement("UPDATE account SET password_hash = :new WHERE id = :account AND password_hash = :old")
async def rehash(connection: AsyncConnection, account: AccountId, old: str, new: str) -> None:
    """Replace the hash of the same password; nothing happens if the password has been changed meanwhile."""


# Locks them, so that of two that disable the last two admins one sees the other.
@statement("SELECT id FROM account WHERE is_admin AND disabled_at IS NULL ORDER BY id FOR UPDATE")
async def admins_held(connection: AsyncConnection) -> set[AccountId]:
    """The enabled admins; they stay so until the transaction ends."""
