"""The operations on the tokens of an account, for itself and for admins.

A token is for programs, and limited by scopes, projects and time. It never has more rights than its account.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from dao.accounts import accounts, login_links
from dao.accounts import tokens as token_rows
from dao.accounts.rows import TokenRow
from model.accounts import tokens
from model.accounts.rights import Right, Scope
from model.errors import NotFound, Refused, Unauthenticated
from model.fields import NAME_LENGTH_MAX
from model.ids import AccountId, TokenId
from service.accounts.own_password import check_own_password, check_recent_login, check_unchanged
from service.accounts.people import Password
from service.call import Call, Subject
from service.fields import Answer, Asked, Id, Text
from service.operation import operation
from service.paging import PageOf, PageQuery, page_of

if TYPE_CHECKING:
    from dao.accounts.accounts import Credentials
    from dao.postgres.pool import AsyncConnection

LIVES = timedelta(days=90)
LIVES_MIN, LIVES_MAX = timedelta(minutes=1), timedelta(days=366)
NAME_CHARACTERS_MAX = 100
LINK_LENGTH_MAX = 200


class TokenAnswer(Answer, TokenRow):
    """A token; `projects` left out: of all."""

    by_session: bool = Field(description="made by a login, or by a token that was; it ends with the password")


class TokenMade(TokenAnswer):
    """A new token; its text is shown this once."""

    token: str = Field(repr=False)


class NewToken(Asked):
    """A token to make. A session proves by `password`, the `link` that began it, or its age, that a person asks."""

    name: Annotated[Text, Field(min_length=1, max_length=NAME_CHARACTERS_MAX)]
    scopes: Annotated[Sequence[Scope], Field(min_length=1, max_length=len(Scope), description="what it is for")]
    projects: Annotated[
        Sequence[Annotated[Text, Field(min_length=1, max_length=NAME_LENGTH_MAX)]] | None,
        Field(min_length=1, max_length=1000, description="the only projects that it is for; left out: all"),
    ] = None
    lives_s: Annotated[
        float,
        Field(ge=LIVES_MIN.total_seconds(), le=LIVES_MAX.total_seconds(), description="seconds until it ends"),
    ] = LIVES.total_seconds()
    password: Password | None = Field(None, repr=False, description="of the caller's own account; only for a session")
    link: str | None = Field(
        None, max_length=LINK_LENGTH_MAX, repr=False, description="instead of the password, once, until it expires"
    )


@operation("GET", "/users/{account}/tokens", Right.VIEW_CLUSTER, "tokens", of_account=True)
async def list_tokens(call: Call, account: Id, query: PageQuery) -> PageOf[TokenAnswer]:
    """List the tokens of an account, newest first, with those that ended: its own, or for an admin."""
    call.permit_account(AccountId(account))
    before = None if query.after is None else TokenId(query.after)
    async with call.reading() as connection:
        await accounts.by_id(connection, AccountId(account))
        found = await token_rows.of_account(connection, AccountId(account), query.limit + 1, before)
    return page_of(found, query.limit, TokenAnswer.model_validate, lambda row: row.id)


@operation("POST", "/users/{account}/tokens", Right.VIEW_CLUSTER, "tokens", status=201, has_secret=True)
async def make_token(call: Call, account: Id, body: NewToken) -> TokenMade:
    """Make a token of an account: its own, or for an admin. Its text is shown this once.

    A session needs the password of its own account, so that nobody who stole it leaves a token behind. Without one, it
    must have begun at an OpenID Connect provider within 5 minutes.
    """
    call.permit_account(AccountId(account))
    checked = await _person_of_session(call, body)
    async with call.changing(Subject("token", None, name=body.name, account=AccountId(account))) as change:
        if not body.name.strip() or not body.name.isprintable():
            raise Refused(f"a token needs a name of 1 to {NAME_CHARACTERS_MAX} printable characters")
        holder = await accounts.held(change.connection, AccountId(account))
        if holder.disabled_at is not None:
            raise Refused(f'the account "{holder.name}" is disabled; enable it first')
        by_session = await _is_by_session(change.connection, call, body, checked)
        token = tokens.make(secrets.token_bytes(tokens.RANDOM_BYTES))
        lives = timedelta(seconds=body.lives_s)
        new = token_rows.NewToken(body.name, token.hash, body.scopes, body.projects, lives, by_session)
        row = await token_rows.insert(change.connection, holder.id, new)
        change.id, change.after = row.id, _shown(row, holder.id)
    return TokenMade(**TokenAnswer.model_validate(row).model_dump(), token=token.text)


@operation("DELETE", "/users/{account}/tokens/{id}", Right.VIEW_CLUSTER, "tokens")
async def revoke_token(call: Call, account: Id, id: Id) -> TokenAnswer:
    """End a token of an account: its own, or for an admin. A token may end itself."""
    owner, token = AccountId(account), TokenId(id)
    async with call.changing(Subject("token", id, account=owner, token=token)) as change:
        row = await token_rows.revoke(change.connection, owner, token)
        if row is None:
            raise NotFound(f"the account has no token {id} that is still valid; list them to see its id")
        change.name, change.before = row.name, _shown(row, owner)
        change.answer = TokenAnswer.model_validate(row)
    return change.answered(TokenAnswer)


async def _person_of_session(call: Call, body: NewToken) -> Credentials | None:
    """The credentials of the account of a session, whose password was given; None: another proof, or none is needed."""
    caller = call.caller
    if caller.session is None or caller.account is None or body.link is not None:
        return None
    checked = await check_own_password(call, caller.account, body.password)
    if checked is None:
        await check_recent_login(call, caller.account)
    return checked


async def _is_by_session(connection: AsyncConnection, call: Call, body: NewToken, checked: Credentials | None) -> bool:
    """Whether a session makes the token, which has proved itself. Raises `Changed`, `Unauthenticated`."""
    caller = call.caller
    if caller.session is None or caller.account is None:
        return caller.token is not None and await token_rows.is_by_session(connection, caller.token)
    if body.link is None:
        await check_unchanged(connection, call, checked)
    elif not await login_links.take_used(connection, caller.account, tokens.hash_of(body.link)):
        raise Unauthenticated("this login link has not begun a session or has expired; give the password instead")
    return True


def _shown(row: TokenRow, account: AccountId) -> dict[str, object]:
    return {
        "account": account,
        "scopes": row.scopes,
        "projects": row.projects,
        "by_session": row.by_session,
        "expires_at": row.expires_at,
    }
