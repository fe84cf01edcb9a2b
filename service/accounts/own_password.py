"""A caller proves that it is the person of its account: a thief of a session does not know the password."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from dao.accounts import accounts, sessions
from model.errors import Changed, Refused
from service.accounts.logins import check_password_of

if TYPE_CHECKING:
    from dao.accounts.accounts import Credentials
    from dao.postgres.pool import AsyncConnection
    from model.ids import AccountId
    from service.call import Call


RECENT = timedelta(minutes=5)


async def check_own_password(call: Call, account: AccountId, password: str | None) -> Credentials | None:
    """The credentials of the caller, whose account and password these are; None: it has no password yet.

    Raises:
        Refused: it has one, and none was given.
        Unauthenticated, TooMany, Unavailable: as at a login, whose limits count a wrong one.
    """
    has_password = (await call.read(accounts.by_id, account)).has_password
    if not has_password:
        return None
    if password is None:
        raise Refused("password of your own account is missing; send it as `password`")
    caller = call.caller
    return await check_password_of(call.database, call.backend.passwords, caller.name, password, caller)


async def check_recent_login(call: Call, account: AccountId) -> None:
    """The same proof for an account without a password: its provider has just said who it is. Raises `Refused`."""
    async with call.reading() as connection:
        issuer = (await accounts.by_id(connection, account)).issuer
        session = call.caller.session
        if issuer is None:
            raise Refused("your account has no password yet; set one first, then make the token with it")
        if session is None or not await sessions.is_younger(connection, session, RECENT):
            raise Refused(f"your login at {issuer} is more than 5 minutes old; log out and in again, then repeat this")


async def check_unchanged(connection: AsyncConnection, call: Call, checked: Credentials | None) -> None:
    """Raises `Changed` unless the caller's password is still the one that was checked."""
    now = await accounts.credentials(connection, call.caller.name)
    if now is None or now.password_hash != (checked.password_hash if checked else None):
        raise Changed("somebody else changed the password meanwhile; log in again, then repeat this")
