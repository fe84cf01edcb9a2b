"""The operations on the tokens of an account, for itself and for admins.

A token is for programs, and limited by scopes, projects and time. It never has more rights than its account.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from datetime import timedelta
from typing import Annotated

from pydantic import Field

from dao.accounts import accounts
from dao.accounts import tokens as token_rows
from dao.accounts.tokens import TokenRow
from model import tokens
from model.errors import NotFound, Refused
from model.fields import NAME_LENGTH_MAX
from model.ids import AccountId, TokenId
from model.rights import Right, Scope
from service.call import Call, Subject
from service.fields import Answer, Asked, Id, Moment, Text
from service.operation import operation
from service.pages import PageOf, PageQuery, page_of

LIVES = timedelta(days=90)
LIVES_MIN, LIVES_MAX = timedelta(minutes=1), timedelta(days=366)
NAME_CHARACTERS_MAX = 100


class TokenAnswer(Answer):
    """A token; `projects` left out: of all."""

    id: Id
    name: str
    scopes: Sequence[str]
    projects: Sequence[str] | None = None
    created_at: Moment
    expires_at: Moment
    last_used_at: Moment | None = None
    last_used_from: str | None = None
    revoked_at: Moment | None = None


class TokenMade(TokenAnswer):
    """A new token; its text is shown this once."""

    token: str = Field(repr=False)


class NewToken(Asked):
    """A token to make."""

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


@operation("GET", "/users/{account}/tokens", Right.VIEW_CLUSTER, "tokens")
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
    """Make a token of an account: its own, or for an admin. Its text is shown this once."""
    async with call.changing(Subject("token", None, name=body.name, account=AccountId(account))) as change:
        if not body.name.strip() or not body.name.isprintable():
            raise Refused(f"a token needs a name of 1 to {NAME_CHARACTERS_MAX} printable characters")
        holder = await accounts.held(change.connection, AccountId(account))
        if holder.disabled_at is not None:
            raise Refused(f'the account "{holder.name}" is disabled; enable it first')
        token = tokens.make(secrets.token_bytes(tokens.RANDOM_BYTES))
        lives = timedelta(seconds=body.lives_s)
        row = await token_rows.insert(
            change.connection, holder.id, body.name, token.hash, body.scopes, body.projects, lives
        )
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
    answer: TokenAnswer = change.answered()
    return answer


def _shown(row: TokenRow, account: AccountId) -> dict[str, object]:
    return {
        "account": account,
        "scopes": row.scopes,
        "projects": row.projects,
        "expires_at": row.expires_at,
    }
