"""The tokens of an account, made by itself or an admin: for programs, limited by scopes, projects and time."""

from __future__ import annotations

import secrets
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import timedelta

from sqlalchemy.ext.asyncio import AsyncConnection

from dao.accounts import accounts, audit
from dao.accounts import tokens as token_rows
from dao.accounts.tokens import TokenRow
from model import tokens
from model.errors import NotFound, Refused
from model.ids import AccountId, TokenId
from model.rights import Scope
from model.tokens import Token
from service.callers import Caller

LIVES = timedelta(days=90)
LIVES_MIN, LIVES_MAX = timedelta(minutes=1), timedelta(days=366)
NAME_CHARACTERS_MAX = 100


@dataclass(frozen=True, slots=True)
class NewToken:
    """A token that was made; its text is shown this once."""

    row: TokenRow
    token: Token


async def make(
    connection: AsyncConnection,
    caller: Caller,
    account: AccountId,
    name: str,
    scopes: Collection[Scope],
    *,
    projects: Collection[str] | None = None,
    lives: timedelta = LIVES,
) -> NewToken:
    """A new token of an account. It never has more rights than its account, at any time.

    Raises:
        Forbidden: it is neither the caller's account nor is the caller an admin; or the caller is a limited token.
        NotFound: there is no such account.
        Refused: the name is taken or unfit, there is no scope, it would live too long, or the account is disabled.
    """
    caller.need_account(account)
    if not name.strip() or not name.isprintable() or len(name) > NAME_CHARACTERS_MAX:
        raise Refused(f"a token needs a name of 1 to {NAME_CHARACTERS_MAX} printable characters")
    if not scopes:
        raise Refused(f"a token needs a scope; there are {', '.join(Scope)}")
    if not LIVES_MIN <= lives <= LIVES_MAX:
        raise Refused(f"a token lives for 1 minute to {LIVES_MAX.days} days; choose a time between them")
    holder = await accounts.held(connection, account)
    if holder.disabled_at is not None:
        raise Refused(f'the account "{holder.name}" is disabled; enable it first')
    token = tokens.make(secrets.token_bytes(tokens.RANDOM_BYTES))
    row = await token_rows.insert(connection, account, name, token.hash, scopes, projects, lives)
    await audit.insert(connection, [caller.entry("make_token", "token", row.id, name, after=_shown(row))])
    return NewToken(row, token)


async def listed(
    connection: AsyncConnection, caller: Caller, account: AccountId, limit: int, before: TokenId | None = None
) -> Sequence[TokenRow]:
    """The tokens of an account, newest first, with those that ended. Raises `Forbidden`."""
    caller.need_account(account)
    return await token_rows.of_account(connection, account, limit, before)


async def revoke(connection: AsyncConnection, caller: Caller, account: AccountId, token: TokenId) -> TokenRow:
    """End a token. A token may end itself. Raises `Forbidden`, `NotFound`."""
    if caller.account != account or caller.token != token:
        caller.need_account(account)
    row = await token_rows.revoke(connection, account, token)
    if row is None:
        raise NotFound(f"the account has no token {token} that is still valid; list them to see its id")
    await audit.insert(connection, [caller.entry("revoke_token", "token", row.id, row.name, before=_shown(row))])
    return row


def _shown(row: TokenRow) -> dict[str, object]:
    return {"name": row.name, "scopes": row.scopes, "projects": row.projects, "expires_at": row.expires_at}
