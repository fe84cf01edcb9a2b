"""Logging in, by password or by a link, and out.

A name that no account has takes the same way as a known one: the same count, one verification with the same costs, the
same sentence. So nobody learns who has an account.
"""

from __future__ import annotations

import hmac
import secrets
from base64 import urlsafe_b64encode
from dataclasses import asdict, dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING

from dao.accounts import accounts, audit, login_attempts, login_links, sessions
from dao.logger import logger
from model.accounts.accounts import sent_name
from model.accounts.audits import ActorKind
from model.accounts.tokens import hash_of
from model.errors import TooMany, Unauthenticated
from model.ids import AccountId, LoginSessionId
from service.callers import Caller, Visitor

if TYPE_CHECKING:
    from dao.postgres.database import Database
    from dao.postgres.pool import AsyncConnection
    from service.accounts.passwords import Passwords

SECRET_BYTES = 32
USER_AGENT_CHARACTERS_MAX = 300

log = logger()


@dataclass(frozen=True, slots=True)
class LoggedIn:
    """A session that has begun. The secrets are shown this once: for the cookie, and for the header of the page."""

    session: LoginSessionId
    account: AccountId
    name: str
    secret: str = field(repr=False)
    csrf: str = field(repr=False)


def csrf_of(secret: str) -> str:
    """The second secret of a session, which does not reveal the first one. Who has the cookie can ask for it."""
    return urlsafe_b64encode(hmac.digest(secret.encode(), b"shoal csrf", "sha256")).decode().rstrip("=")


async def log_in(database: Database, passwords: Passwords, name: str, password: str, visitor: Visitor) -> LoggedIn:
    """Begin a session of an account with its password.

    Raises:
        Unauthenticated: name or password is wrong, or the account is disabled; it does not say which.
        TooMany: for this name or from this address.
        Unavailable: too many passwords are being checked.
    """
    found = await check_password_of(database, passwords, name, password, visitor)
    new = await passwords.hash(password) if passwords.is_outdated(found.password_hash or "") else None
    async with database.writing() as connection:
        if new is not None and found.password_hash is not None:
            await accounts.rehash(connection, found.account, found.password_hash, new)
        return await begin(connection, found.account, "password", visitor)


async def check_password_of(
    database: Database, passwords: Passwords, name: str, password: str, visitor: Visitor
) -> accounts.Credentials:
    """The account with this name and password. Raises as `log_in`; no connection is held meanwhile."""
    async with database.writing() as connection:
        begun = await login_attempts.begin(connection, name, visitor.address)
        known = await accounts.credentials(connection, name)
    if isinstance(begun, timedelta):
        after_s = begun.total_seconds()
        raise TooMany(
            f"too many logins failed for this name or from this address; try again in {max(1, round(after_s))} s",
            after_s,
        )
    right = await passwords.verify(known.password_hash if known else None, password)
    if known is None or not right:
        log.warning("login_failed", name=sent_name(name), address=visitor.address)
        raise Unauthenticated("the name or the password is wrong; try again, or ask an admin for a login link")
    await database.write(login_attempts.succeeded, name)
    return known


async def log_in_by_link(connection: AsyncConnection, secret: str, visitor: Visitor) -> LoggedIn:
    """Begin a session with the secret of a link. Raises `Unauthenticated`: it is unknown, used or expired."""
    account = await login_links.use(connection, hash_of(secret))
    if account is None:
        raise Unauthenticated("this login link was used already or has expired; make another: shoal user link NAME")
    return await begin(connection, account, "link", visitor)


async def log_out(connection: AsyncConnection, caller: Caller) -> None:
    """End the caller's session; nothing happens if it has none."""
    if caller.account is not None and caller.session is not None:
        await sessions.end(connection, caller.account, caller.session)
        await audit.insert(connection, [caller.entry("log_out", "account", caller.account, caller.name)])


async def begin(connection: AsyncConnection, account: AccountId, by: str, visitor: Visitor) -> LoggedIn:
    """Begin a session of an account that has proved itself `by` something. Raises `Unauthenticated`: it is disabled."""
    holder = await accounts.held(connection, account)
    if holder.disabled_at is not None:  # since it was found
        raise Unauthenticated("the account is disabled; ask an admin")
    secret = secrets.token_urlsafe(SECRET_BYTES)
    csrf = csrf_of(secret)
    agent = visitor.user_agent[:USER_AGENT_CHARACTERS_MAX]
    session = await sessions.insert(connection, account, hash_of(secret), hash_of(csrf), visitor.address, agent)
    caller = Caller(ActorKind.SESSION, holder.name, account, **asdict(visitor))
    await audit.insert(connection, [caller.entry("log_in", "account", account, holder.name, after={"by": by})])
    return LoggedIn(session, account, holder.name, secret, csrf)
