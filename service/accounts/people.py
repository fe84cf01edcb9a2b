"""Accounts: the first, new ones, links for them, changes, passwords."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta

from sqlalchemy.ext.asyncio import AsyncConnection

from dao.accounts import accounts, audit, login_links, sessions
from dao.accounts.accounts import Account
from dao.postgres.database import Database
from model.accounts import check_account_name
from model.errors import Changed, Refused
from model.ids import AccountId
from model.rights import Right
from model.tokens import hash_of
from service.accounts.logins import SECRET_BYTES, check_password_of
from service.accounts.passwords import Passwords
from service.callers import Caller, Visitor

LINK_LIVES = timedelta(minutes=5)
FIRST_NAME = "admin"


@dataclass(frozen=True, slots=True)
class LoginLink:
    """A login without a password, once, within `LINK_LIVES`. The secret is shown this once."""

    account: Account
    secret: str = field(repr=False)


async def make_first_admin(connection: AsyncConnection, caller: Caller, name: str = FIRST_NAME) -> LoginLink | None:
    """An admin and a link for it if there is no account at all, else None. Of several at once one makes it."""
    caller.need(Right.ADMINISTER)
    if not await accounts.none_yet(connection):
        return None
    await create(connection, caller, name, is_admin=True)
    return await make_link(connection, caller, name)


async def create(connection: AsyncConnection, caller: Caller, name: str, is_admin: bool = False) -> Account:
    """Add an account, which has no password yet. Raises `Forbidden`, `Refused`: the name is taken or cannot be one."""
    caller.need(Right.ADMINISTER)
    made = await accounts.insert(connection, check_account_name(name), is_admin)
    after = {"name": name, "is_admin": is_admin}
    await audit.insert(connection, [caller.entry("create_account", "account", made.id, name, after=after)])
    return made


async def make_link(connection: AsyncConnection, caller: Caller, name: str) -> LoginLink:
    """A login link for an account, in place of its unused ones. Raises `Forbidden`, `NotFound`, `Refused`: disabled."""
    caller.need(Right.ADMINISTER)
    account = await accounts.held(connection, (await accounts.by_name(connection, name)).id)
    if account.disabled_at is not None:
        raise Refused(f'the account "{account.name}" is disabled; enable it first')
    secret = secrets.token_urlsafe(SECRET_BYTES)
    await login_links.delete_unused(connection, account.id)
    await login_links.insert(connection, account.id, hash_of(secret), LINK_LIVES)
    await audit.insert(connection, [caller.entry("make_login_link", "account", account.id, account.name)])
    return LoginLink(account, secret)


async def listed(
    connection: AsyncConnection, caller: Caller, limit: int, after: AccountId | None = None
) -> Sequence[Account]:
    """Accounts by id, for admins. Raises `Forbidden`."""
    caller.need(Right.ADMINISTER)
    return await accounts.page(connection, after, limit)


async def change(
    connection: AsyncConnection,
    caller: Caller,
    account: AccountId,
    version: int,
    *,
    is_admin: bool | None = None,
    disabled: bool | None = None,
) -> Account:
    """Change what is not None. One that is disabled is logged out at once, and its tokens are refused meanwhile.

    Args:
        version: which the caller has seen.

    Raises:
        Forbidden: the caller is no admin.
        NotFound: there is no such account.
        Changed: it has another version now.
        Refused: no admin would be left.
    """
    caller.need(Right.ADMINISTER)
    if (disabled or is_admin is False) and await accounts.admins_held(connection) == {account}:
        raise Refused("this is the last admin who may log in; make another account an admin first")
    before = await accounts.held(connection, account)
    after = await accounts.change(connection, account, version, is_admin=is_admin, disabled=disabled)
    if disabled:
        await _log_out_everywhere(connection, account)
    await audit.insert(
        connection,
        [caller.entry("change_account", "account", account, after.name, before=_shown(before), after=_shown(after))],
    )
    return after


async def set_password(database: Database, passwords: Passwords, caller: Caller, name: str, password: str) -> None:
    """Give an account a password; it is logged out everywhere. Raises `Forbidden`, `NotFound`, `Refused`."""
    caller.need(Right.ADMINISTER)
    hashed = await passwords.hash(password)
    async with database.writing() as connection:
        account = await accounts.by_name(connection, name)
        await _store_password(connection, caller, account.id, hashed)


async def change_password(
    database: Database, passwords: Passwords, caller: Caller, current: str, password: str, visitor: Visitor
) -> None:
    """Change the caller's own password; all its sessions but this one end. Its first needs no current one.

    Raises:
        Forbidden: the caller is a limited token.
        Unauthenticated: the current password is wrong.
        TooMany: it was wrong too often.
        Refused: the new one cannot be a password, or the caller is no account.
    """
    if caller.account is None:
        raise Refused("only an account has a password; name the account: shoal user password NAME")
    caller.need_account(caller.account)
    async with database.reading() as connection:
        has_password = (await accounts.by_id(connection, caller.account)).has_password
    checked = await check_password_of(database, passwords, caller.name, current, visitor) if has_password else None
    hashed = await passwords.hash(password)
    async with database.writing() as connection:
        await accounts.held(connection, caller.account)
        now = await accounts.credentials(connection, caller.name)
        if now is None or now.password_hash != (checked.password_hash if checked else None):
            raise Changed("somebody else changed the password meanwhile; log in again, then change it")
        await _store_password(connection, caller, caller.account, hashed)


async def _store_password(connection: AsyncConnection, caller: Caller, account: AccountId, hashed: str) -> None:
    before = await accounts.held(connection, account)
    await accounts.change(connection, account, before.version, password_hash=hashed)
    await _log_out_everywhere(connection, account, caller)
    await audit.insert(connection, [caller.entry("change_password", "account", account, before.name)])


async def _log_out_everywhere(connection: AsyncConnection, account: AccountId, caller: Caller | None = None) -> None:
    """End all sessions of the account but the caller's, and its links."""
    await sessions.end_all(connection, account, caller.session if caller else None)
    await login_links.delete_unused(connection, account)


def _shown(account: Account) -> dict[str, object]:
    return {"is_admin": account.is_admin, "disabled": account.disabled_at is not None}
