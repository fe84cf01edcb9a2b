"""The operations on accounts, for admins: list, make, change, let in by a link or a password."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from datetime import timedelta
from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from dao.accounts import accounts, audit, login_links, members, sessions, tokens
from dao.accounts.rows import Account
from model.accounts.accounts import NAME_CHARACTERS_MAX, check_account_name
from model.accounts.rights import Right, Role
from model.accounts.tokens import TokensEnd, hash_of
from model.errors import Refused
from model.ids import AccountId, LoginSessionId
from service.accounts.logins import SECRET_BYTES
from service.call import Call, Change, Subject
from service.callers import Caller
from service.fields import Answer, Asked, Id, Text
from service.operation import operation
from service.paging import PageOf, PageQuery, page_of

if TYPE_CHECKING:
    from dao.postgres.pool import AsyncConnection

LINK_LIVES = timedelta(minutes=5)
FIRST_NAME = "admin"
PASSWORD_LENGTH_MAX = 1_000

AccountName = Annotated[Text, Field(min_length=1, max_length=NAME_CHARACTERS_MAX)]
Password = Annotated[str, Field(max_length=PASSWORD_LENGTH_MAX, json_schema_extra={"format": "password"})]
END_TOKENS = Field(TokensEnd.MADE_BY_SESSIONS, description="which tokens of the account end with its old password")


class UserAnswer(Answer, Account, etag="version"):
    """An account."""

    issuer: str | None = Field(None, description="the OpenID Connect provider at which it logs in")


class UserPageAnswer(UserAnswer, etag="version"):
    """An account with its roles."""

    roles: Annotated[Mapping[str, Role], Field(description="project -> its role there; an admin needs none")]


class LoginLink(Answer):
    """A login without a password, once. The secret is shown this once; the page is `/login?link=SECRET`."""

    account: Id
    name: str
    secret: str = Field(repr=False)
    lives_s: float


class UserReference(Asked):
    """How people name an account."""

    name: AccountName


class NewUser(Asked):
    """An account to make. It has no password yet."""

    name: AccountName
    is_admin: bool = False


class ChangeUser(Asked):
    """What changes; what is left out stays."""

    is_admin: bool | None = None
    disabled: bool | None = None


class NewPassword(Asked):
    """A password that an admin sets."""

    password: Password = Field(repr=False)
    end_tokens: TokensEnd = END_TOKENS


@operation("GET", "/users", Right.ADMINISTER, "users")
async def list_users(call: Call, query: PageQuery) -> PageOf[UserAnswer]:
    """List the accounts, the oldest first."""
    after = None if query.after is None else AccountId(query.after)
    found = await call.read(accounts.page, after, query.limit + 1)
    return page_of(found, query.limit, UserAnswer.model_validate, lambda account: account.id)


@operation("GET", "/users:find", Right.ADMINISTER, "users")
async def find_user(call: Call, query: UserReference) -> UserAnswer:
    """Find an account by its name, in upper or lower case."""
    return UserAnswer.model_validate(await call.read(accounts.by_name, query.name))


@operation("GET", "/users/{id}", Right.ADMINISTER, "users")
async def get_user(call: Call, id: Id) -> UserPageAnswer:
    """Show an account and its roles."""
    async with call.reading() as connection:
        found = UserAnswer.model_validate(await accounts.by_id(connection, AccountId(id)))
        roles = await members.of_account(connection, AccountId(id))
    return UserPageAnswer(**dict(found), roles=roles)


@operation("POST", "/users", Right.ADMINISTER, "users", status=201)
async def create_user(call: Call, body: NewUser) -> UserAnswer:
    """Make an account. It has no password: make a login link, or set one."""
    async with call.changing(Subject("account", None, name=body.name)) as change:
        made = await accounts.insert(change.connection, check_account_name(body.name), body.is_admin)
        change.id, change.after = made.id, {"is_admin": made.is_admin}
        change.answer = UserAnswer.model_validate(made)
    return change.answered(UserAnswer)


@operation("PATCH", "/users/{id}", Right.ADMINISTER, "users")
async def change_user(call: Call, id: Id, body: ChangeUser) -> UserAnswer:
    """Make an account an admin or not, disable or enable it.

    One that is disabled is logged out at once, and its tokens are refused meanwhile.
    """
    account = AccountId(id)
    async with call.changing(Subject("account", id)) as change:
        # Read first: of two that disable the last two admins one waits for the other here.
        if (body.disabled or body.is_admin is False) and await accounts.admins_held(change.connection) == {account}:
            raise Refused("this is the last admin who may log in; make another account an admin first")
        before = await accounts.held(change.connection, account)
        call.expect(before.version)
        after = await accounts.change(
            change.connection, account, before.version, is_admin=body.is_admin, disabled=body.disabled
        )
        if body.disabled:
            await log_out_everywhere(change.connection, account)
        change.name, change.before, change.after = after.name, _shown(before), _shown(after)
        change.answer = UserAnswer.model_validate(after)
    return change.answered(UserAnswer)


@operation("POST", "/users/{id}/login-link", Right.ADMINISTER, "users", status=201, has_secret=True)
async def make_login_link(call: Call, id: Id) -> LoginLink:
    """Make a link that logs an account in once, within 5 minutes, in place of its unused ones."""
    async with call.changing(Subject("account", id)) as change:
        link = await _new_link(change.connection, AccountId(id))
        change.name = link.name
    return link


@operation("PUT", "/users/{id}/password", Right.ADMINISTER, "users", status=204, has_secret=True)
async def set_user_password(call: Call, id: Id, body: NewPassword) -> None:
    """Give an account a password. It is logged out everywhere, and of its tokens those end that `end_tokens` says."""
    call.permit(None)
    hashed = await call.backend.passwords.hash(body.password)
    async with call.changing(Subject("account", id)) as change:
        await store_password(change, AccountId(id), hashed, body.end_tokens)


async def make_first_admin(connection: AsyncConnection, caller: Caller, name: str = FIRST_NAME) -> LoginLink | None:
    """An admin and a link for it if there is no account at all, else None. Of several at once one makes it.

    Not an operation: it is done by a process of Shoal at its start, where nobody can ask for it.
    """
    if not await accounts.none_yet(connection):
        return None
    made = await accounts.insert(connection, name, is_admin=True)
    link = await _new_link(connection, made.id)
    done = {create_user.name: {"name": name, "is_admin": True}, make_login_link.name: None}
    entries = [caller.entry(action, "account", made.id, name, after=after) for action, after in done.items()]
    await audit.insert(connection, entries)
    return link


async def store_password(
    change: Change, account: AccountId, hashed: str, end: TokensEnd, but: LoginSessionId | None = None
) -> None:
    """Replace the password of an account; all its sessions but one end, and these tokens. Raises `NotFound`."""
    before = await accounts.held(change.connection, account)
    await accounts.change(change.connection, account, before.version, password_hash=hashed)
    await log_out_everywhere(change.connection, account, but)
    ended = await tokens.revoke_all(change.connection, account, end)
    change.name, change.after = before.name, {"end_tokens": end, "ended_tokens": ended}


async def log_out_everywhere(
    connection: AsyncConnection, account: AccountId, but: LoginSessionId | None = None
) -> None:
    """End all sessions of the account but one, and its links."""
    await sessions.end_all(connection, account, but)
    await login_links.delete_all(connection, account)


async def _new_link(connection: AsyncConnection, id_: AccountId) -> LoginLink:
    account = await accounts.held(connection, id_)
    if account.disabled_at is not None:
        raise Refused(f'the account "{account.name}" is disabled; enable it first')
    secret = secrets.token_urlsafe(SECRET_BYTES)
    await login_links.delete_all(connection, account.id)
    await login_links.insert(connection, account.id, hash_of(secret), LINK_LIVES)
    return LoginLink(account=account.id, name=account.name, secret=secret, lives_s=LINK_LIVES.total_seconds())


def _shown(account: Account) -> dict[str, object]:
    return {"is_admin": account.is_admin, "disabled": account.disabled_at is not None}
