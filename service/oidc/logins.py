"""A login by a provider: which account it is of, and what its groups may do.

An account belongs to an identity for good, whatever the identity is called later. In projects that the settings name,
the groups decide at each login; elsewhere the owners do.
"""

from __future__ import annotations

from dataclasses import asdict
from datetime import timedelta
from typing import TYPE_CHECKING

from dao.accounts import accounts, audit, login_links, members
from dao.logger import logger
from model.accounts.accounts import check_account_name, sent_name
from model.accounts.audits import ActorKind
from model.accounts.group_roles import roles_of
from model.accounts.tokens import hash_of
from model.errors import Forbidden, Unauthenticated
from service.accounts import logins
from service.accounts.logins import LoggedIn
from service.callers import Caller, Visitor

if TYPE_CHECKING:
    from dao.accounts.audit import AuditEntry
    from dao.postgres.pool import AsyncConnection
    from model.ids import AccountId
    from service.oidc.provider import Identity
    from service.oidc.settings import OidcSettings

LIVES = timedelta(minutes=10)
"""How long a login may take at the provider."""
BY = "oidc"

log = logger()


async def log_in(
    connection: AsyncConnection, settings: OidcSettings, identity: Identity, secret: str, visitor: Visitor
) -> LoggedIn:
    """Begin a session for an identity, once for each login with a `secret`.

    Raises:
        Forbidden: the identity may not log in; the sentence says why.
        Unauthenticated: the answer was used already, or the account is disabled.
        Refused: its name cannot be that of an account.
    """
    groups = identity.groups or frozenset()
    if identity.groups is None and settings.uses_groups:
        log.warning("oidc_groups_missing", claim=settings.groups_claim, name=sent_name(identity.name))
    if settings.groups and groups.isdisjoint(settings.groups):
        if identity.groups is None:
            raise Forbidden(
                f"only some groups of {settings.label} may log in here, and the claim {settings.groups_claim} is "
                "missing; ask an admin"
            )
        raise Forbidden(
            f"only some groups of {settings.label} may log in here, and you are in none of them; ask an admin"
        )
    account = await _account(connection, settings, identity)
    if not await login_links.insert_used(connection, account, hash_of(secret), LIVES):
        raise Unauthenticated("this login has ended already; log in again")
    begun = await logins.begin(connection, account, BY, visitor)
    caller = Caller(ActorKind.SESSION, begun.name, account, **asdict(visitor))
    entries = [
        *await _set_roles(connection, settings, groups, caller, account),
        *await _set_admin(connection, settings, groups, caller, account),
    ]
    if entries:
        await audit.insert(connection, entries)
    return begun


async def _account(connection: AsyncConnection, settings: OidcSettings, identity: Identity) -> AccountId:
    """That of the identity; at its first login one of its name, or a new one. Raises `Forbidden`."""
    known = await accounts.of_identity(connection, identity.issuer, identity.subject)
    if known is not None:
        return known
    name = check_account_name(identity.name)
    linked = await accounts.link(connection, name, identity.issuer, identity.subject)
    if linked is not None:
        return linked
    if await accounts.exists(connection, name):
        raise Forbidden(
            f'the account "{name}" is not that of {settings.label}: it is an admin, has a password, or belongs to '
            "another person there; log in by password, or ask an admin"
        )
    if not settings.create_accounts:
        raise Forbidden(f'there is no account "{name}"; ask an admin for one')
    made = await accounts.insert(connection, name, is_admin=False)
    linked = await accounts.link(connection, name, identity.issuer, identity.subject)
    assert linked == made.id
    return made.id


async def _set_roles(
    connection: AsyncConnection, settings: OidcSettings, groups: frozenset[str], caller: Caller, account: AccountId
) -> list[AuditEntry]:
    """Give the roles of the groups, and take those away that no group gives."""
    entries = []
    for project, role in sorted(roles_of(groups, settings.group_roles).items()):
        before = (await members.held(connection, project)).get(account)
        if role == before:
            continue
        if role is None:
            await members.remove(connection, account, project)
        else:
            await members.put(connection, account, project, role)
        was, is_ = ({"role": each, "by": BY} if each else None for each in (before, role))
        action = "put_member" if role else "remove_member"
        entries.append(caller.entry(action, "member", account, caller.name, project=project, before=was, after=is_))
    return entries


async def _set_admin(
    connection: AsyncConnection, settings: OidcSettings, groups: frozenset[str], caller: Caller, account: AccountId
) -> list[AuditEntry]:
    """Make it an admin or not, if groups decide that; the last admin stays one."""
    if not settings.admins:
        return []
    others = await accounts.admins_held(connection) - {account}
    before = await accounts.held(connection, account)
    is_admin = not groups.isdisjoint(settings.admins) or (before.is_admin and not others)
    if is_admin == before.is_admin:
        return []
    await accounts.change(connection, account, before.version, is_admin=is_admin)
    was, is_ = ({"is_admin": each, "by": BY} for each in (before.is_admin, is_admin))
    return [caller.entry("change_user", "account", account, caller.name, before=was, after=is_)]
