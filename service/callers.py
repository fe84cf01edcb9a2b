"""Who asks: the operating system's user on the database itself, or an account by its session or token.

A caller is made for each request, by one statement that is sent after the request has come: an account that was
disabled, a session that ended, a token that was revoked or a role that was taken away is known at the next request.
"""

from __future__ import annotations

import hmac
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from dao.accounts import audit, sessions
from dao.accounts import tokens as token_rows
from model.accounts import tokens
from model.accounts.audits import ActorKind, Outcome
from model.accounts.rights import CLUSTER_RIGHTS, Right, Role, Scope, covers, left_by, rights_in
from model.errors import Forbidden, Refused, Unauthenticated
from model.ids import AccountId, LoginSessionId, TokenId, WorkflowCode
from service.batches import Batches

if TYPE_CHECKING:
    from dao.accounts.audit import AuditEntry
    from dao.accounts.tokens import FoundToken
    from dao.postgres.database import Database
    from dao.postgres.pool import AsyncConnection


@dataclass(frozen=True, slots=True, kw_only=True)
class Visitor:
    """From where a request comes, before it is known from whom."""

    address: str = ""
    user_agent: str = ""
    request_id: str = ""
    traceparent: str | None = None
    """The trace that runs join which it starts."""


@dataclass(frozen=True, slots=True)
class Caller(Visitor):
    """Who asks, and what it may do.

    `scopes` are those of a token, `projects` the only ones that a token is for; None = no limit. `csrf_hash` belongs to
    a session. `traceparent` is the trace that runs join which it starts.
    """

    kind: ActorKind
    name: str
    account: AccountId | None = None
    is_admin: bool = False
    roles: Mapping[str, Role] = field(default_factory=dict)
    scopes: frozenset[Scope] | None = None
    projects: frozenset[str] | None = None
    session: LoginSessionId | None = None
    token: TokenId | None = None
    csrf_hash: bytes | None = field(default=None, repr=False)

    @classmethod
    def of_system_user(cls, name: str, request_id: str = "", traceparent: str | None = None) -> Caller:
        """Who has the database itself is an administrator, whatever accounts there are."""
        return cls(ActorKind.SYSTEM_USER, name, is_admin=True, request_id=request_id, traceparent=traceparent)

    @classmethod
    async def of_session(cls, connection: AsyncConnection, secret: str, visitor: Visitor) -> Caller:
        """The caller whose cookie contains this secret. Raises `Unauthenticated`."""
        found = await sessions.find(connection, tokens.hash_of(secret))
        if found is None:
            raise Unauthenticated("the session has ended; log in again")
        return cls(
            ActorKind.SESSION,
            found.name,
            found.account,
            found.is_admin,
            found.roles,
            session=found.id,
            csrf_hash=found.csrf_hash,
            **asdict(visitor),
        )

    @classmethod
    async def of_token(cls, database: Database, batches: Batches, text: str, visitor: Visitor) -> Caller:
        """The caller that sent this token. Raises `Unauthenticated`, which never contains the token."""
        try:
            token = tokens.parse(text)
        except Refused as error:
            raise Unauthenticated(str(error)) from None
        found = await batches.ask(find_tokens, TokenSent(database, token.hash, visitor.address))
        if found is None:
            raise Unauthenticated("this token is unknown, revoked or expired; make a new one")
        return cls(
            ActorKind.TOKEN,
            found.name,
            found.account,
            found.is_admin,
            found.roles,
            found.scopes,
            found.projects,
            token=found.id,
            **asdict(visitor),
        )

    @classmethod
    def of_webhook(cls, workflow: WorkflowCode, project: str, visitor: Visitor) -> Caller:
        """The sender of an event that was signed with a key of this workflow: it may start that one."""
        return cls(
            ActorKind.WEBHOOK,
            f"webhook {workflow}",
            roles={project: Role.OPERATOR},
            scopes=frozenset({Scope.RUNS_WRITE}),
            **asdict(visitor),
        )

    @property
    def key(self) -> str:
        """Whose idempotency keys it uses: an account's are the same for all its sessions and tokens."""
        return f"{self.kind} {self.name}" if self.account is None else f"account {self.account}"

    def rights(self, project: str | None = None) -> frozenset[Right]:
        """All rights in a project, or with None those in the cluster."""
        found = rights_in(project, self.roles, self.is_admin)
        if self.scopes is not None:
            found &= left_by(self.scopes)
        if self.projects is not None and project not in self.projects:
            found &= {Right.VIEW_CLUSTER}
        return found

    def may(self, right: Right, project: str | None = None) -> bool:
        """Whether it has a right: in this project, or in the cluster (`project` is not used then)."""
        return right in self.rights(None if right in CLUSTER_RIGHTS else project)

    def may_in_scope(self, scope: Scope) -> bool:
        """Whether it may be used for this: a token only for its scopes, all others for everything."""
        return self.scopes is None or covers(self.scopes, scope)

    def projects_with(self, right: Right) -> frozenset[str] | None:
        """The projects in which it has this right, for lists of what it may see; None = all that there are."""
        known = frozenset(self.roles) | (self.projects or frozenset())
        if self.is_admin and self.projects is None and self.may(right, ""):
            return None
        return frozenset(project for project in known if self.may(right, project))

    @property
    def sees_all(self) -> bool:
        """Whether nothing is hidden from it."""
        return self.projects_with(Right.VIEW) is None

    def need(self, right: Right, project: str | None = None) -> None:
        """Raises `Forbidden` if it lacks a right."""
        if self.may(right, project):
            return
        where = "on the cluster; ask an admin"
        if right not in CLUSTER_RIGHTS:
            where = f'in project "{project}"; an owner of the project or an administrator can give it'
        raise Forbidden(f"{self.name} may not do this: it needs {right} {where}")

    def need_account(self, account: AccountId) -> None:
        """Raises `Forbidden` unless this is the caller's own account, or it may administer the cluster.

        A token counts as its account only if it is limited by nothing: another could make itself one without limits.
        """
        unlimited = self.scopes is None or (Scope.ADMIN in self.scopes and self.projects is None)
        if self.may(Right.ADMINISTER) or (account == self.account and unlimited):
            return
        raise Forbidden(
            f"{self.name} may not do this: it is for the account itself, by a login or a token with the scope "
            f"{Scope.ADMIN} and no limit to projects, or for an admin",
        )

    def has_csrf(self, secret: str) -> bool:
        """Whether this is the second secret of its session, which a page of another site cannot know."""
        return self.csrf_hash is not None and hmac.compare_digest(self.csrf_hash, tokens.hash_of(secret))

    def entry(
        self,
        action: str,
        object_kind: str,
        object_id: object = None,
        object_name: str | None = None,
        *,
        project: str | None = None,
        before: Mapping[str, Any] | None = None,
        after: Mapping[str, Any] | None = None,
        outcome: Outcome = Outcome.DONE,
    ) -> AuditEntry:
        """An audit entry of this caller, to be written in the transaction of the change."""
        object_id = None if object_id is None else str(object_id)
        return audit.AuditEntry(
            *(self.kind, self.name, self.account, action, object_kind, object_id, object_name, project, before, after),
            *(self.address, self.request_id, outcome),
        )


@dataclass(frozen=True, slots=True)
class TokenSent:
    """The hash of a token, and the address from which it came."""

    database: Database
    hash: bytes = field(repr=False)
    address: str


async def find_tokens(sent: Sequence[TokenSent]) -> list[FoundToken | None]:
    """The tokens, which are of one database; None: unknown, expired, revoked, or of a disabled account."""
    async with sent[0].database.reading() as connection:
        found = await token_rows.find(connection, {each.hash: each.address for each in sent})
    return [found.get(each.hash) for each in sent]
