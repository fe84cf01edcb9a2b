"""The operations on the caller itself: who it is and what it may do, and its password."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pydantic import Field

from dao.accounts import accounts
from model.accounts.audits import ActorKind
from model.accounts.rights import Right, Role, Scope
from model.accounts.tokens import TokensEnd
from model.errors import Refused
from model.ids import AccountId
from service.accounts.own_password import check_own_password, check_unchanged
from service.accounts.people import END_TOKENS, Password, store_password
from service.call import Call, Subject
from service.fields import Answer, Asked, Id
from service.operation import operation


class Me(Answer):
    """Who asks. `roles` are by project, `rights` those on the cluster; `scopes` and `projects` limit a token."""

    kind: ActorKind
    name: str
    account: Id | None = None
    session: Id | None = None
    token: Id | None = None
    is_admin: bool
    roles: Mapping[str, Role]
    rights: Sequence[Right]
    scopes: Sequence[Scope] | None = None
    projects: Sequence[str] | None = None


class OwnPassword(Asked):
    """A new password, and the current one if there is one."""

    current: Password | None = Field(None, repr=False)
    password: Password = Field(repr=False)
    end_tokens: TokensEnd = END_TOKENS


@operation("GET", "/me", Right.VIEW_CLUSTER, "users", of_account=True)
async def get_me(call: Call) -> Me:
    """Show the caller's account, and what it may do."""
    call.permit_known()
    caller = call.caller
    return Me.showing(
        caller,
        rights=sorted(caller.rights()),
        scopes=None if caller.scopes is None else sorted(caller.scopes),
        projects=None if caller.projects is None else sorted(caller.projects),
    )


@operation("PUT", "/me/password", Right.VIEW_CLUSTER, "users", status=204, has_secret=True)
async def change_own_password(call: Call, body: OwnPassword) -> None:
    """Change the caller's own password; all its sessions but this one end. Its first needs no current one.

    Of its tokens those end that `end_tokens` says.
    """
    caller = call.caller
    if caller.account is None:
        raise Refused("only an account has a password; name the account: shoal user password NAME")
    call.permit_account(caller.account)
    checked = await check_own_password(call, caller.account, body.current or "")
    if checked is None:
        await _check_local(call, caller.account)
    hashed = await call.backend.passwords.hash(body.password)
    async with call.changing(Subject("account", caller.account, name=caller.name, account=caller.account)) as change:
        await accounts.held(change.connection, caller.account)
        await check_unchanged(change.connection, call, checked)
        await store_password(change, caller.account, hashed, body.end_tokens, caller.session)


async def _check_local(call: Call, account: AccountId) -> None:
    """Raises `Refused` for an account of a provider: it would log in here after it has lost its account there."""
    issuer = (await call.read(accounts.by_id, account)).issuer
    if issuer is not None:
        raise Refused(f"your account logs in at {issuer}; an admin can set a password for it")
