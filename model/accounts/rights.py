"""Who may do what: the rights of each role, and what the scopes of a token leave of its account's rights.

An operation names one right, and for tokens one scope. A role gives rights in one project; an admin has all rights in
all projects. Table: docs/guides/users.md.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from enum import StrEnum

from model.errors import Refused


class Right(StrEnum):
    """The right that an operation requires: in a project, or (the last two) in the cluster."""

    VIEW = "VIEW"
    OPERATE = "OPERATE"
    EDIT = "EDIT"
    OWN = "OWN"
    VIEW_CLUSTER = "VIEW_CLUSTER"
    ADMINISTER = "ADMINISTER"


class Role(StrEnum):
    """An account's role in a project; each includes the rights of those before it."""

    VIEWER = "VIEWER"
    OPERATOR = "OPERATOR"
    EDITOR = "EDITOR"
    OWNER = "OWNER"


class Scope(StrEnum):
    """What a token is for."""

    RUNS_READ = "runs:read"
    RUNS_WRITE = "runs:write"
    DEFINITIONS_READ = "definitions:read"
    DEFINITIONS_WRITE = "definitions:write"
    PROJECTS_READ = "projects:read"
    PROJECTS_WRITE = "projects:write"
    CLUSTER_READ = "cluster:read"
    ADMIN = "admin"


CLUSTER_RIGHTS = frozenset({Right.VIEW_CLUSTER, Right.ADMINISTER})
"""The rights that belong to no project."""

RIGHTS_OF_ROLE: Mapping[Role, frozenset[Right]] = {
    Role.VIEWER: frozenset({Right.VIEW}),
    Role.OPERATOR: frozenset({Right.VIEW, Right.OPERATE}),
    Role.EDITOR: frozenset({Right.VIEW, Right.OPERATE, Right.EDIT}),
    Role.OWNER: frozenset({Right.VIEW, Right.OPERATE, Right.EDIT, Right.OWN}),
}

RIGHTS_OF_SCOPE: Mapping[Scope, frozenset[Right]] = {
    Scope.RUNS_READ: frozenset({Right.VIEW}),
    Scope.RUNS_WRITE: frozenset({Right.VIEW, Right.OPERATE}),
    Scope.DEFINITIONS_READ: frozenset({Right.VIEW}),
    Scope.DEFINITIONS_WRITE: frozenset({Right.VIEW, Right.EDIT}),
    Scope.PROJECTS_READ: frozenset({Right.VIEW}),
    Scope.PROJECTS_WRITE: frozenset({Right.VIEW, Right.OWN}),
    Scope.CLUSTER_READ: frozenset({Right.VIEW_CLUSTER}),
    Scope.ADMIN: frozenset(Right),
}
"""The rights of the token's account that each scope keeps; a scope never adds one."""


def rights_in(project: str | None, roles: Mapping[str, Role], is_admin: bool) -> frozenset[Right]:
    """The rights of an account in a project, or with None those in the cluster."""
    if is_admin:
        return CLUSTER_RIGHTS if project is None else frozenset(Right) - CLUSTER_RIGHTS
    if project is None:
        return frozenset({Right.VIEW_CLUSTER})
    role = roles.get(project)
    return frozenset() if role is None else RIGHTS_OF_ROLE[role]


def is_seen(project: str | None, visible: Collection[str] | None) -> bool:
    """Whether the projects in `visible` (None = all) include `project` (None: deleted)."""
    return visible is None or project in visible


def left_by(scopes: Iterable[Scope]) -> frozenset[Right]:
    """The rights that a token with these scopes can have at most."""
    return frozenset(right for scope in scopes for right in RIGHTS_OF_SCOPE[scope])


def covers(scopes: Collection[Scope], wanted: Scope) -> bool:
    """Whether a token with these scopes may be used where `wanted` is asked for: a write scope also reads."""
    if Scope.ADMIN in scopes or wanted in scopes:
        return True
    subject, _, verb = wanted.partition(":")
    return verb == "read" and f"{subject}:write" in scopes


def parse_scopes(given: Iterable[str]) -> frozenset[Scope]:
    """Scopes by their names. Raises `Refused` for an unknown one, and if there is none."""
    known = {scope.value: scope for scope in Scope}
    found = set()
    for name in given:
        if name not in known:
            raise Refused(f"{name[:60]!r} is not a scope; there are {', '.join(known)}")
        found.add(known[name])
    if not found:
        raise Refused(f"a token needs a scope; there are {', '.join(known)}")
    return frozenset(found)
