"""Accounts with a role in one project, and their tokens."""

from __future__ import annotations

from dao.accounts import accounts, members
from model.accounts.rights import Role, Scope
from service.call import Backend
from tests.api.serving import token_of

SCOPES = frozenset({Scope.RUNS_WRITE, Scope.CLUSTER_READ})


async def member(backend: Backend, name: str, project: str, role: Role, scopes: frozenset[Scope] = SCOPES) -> str:
    """A token of a new account that has a role in a project."""
    token = await token_of(backend, name, scopes=scopes)
    async with backend.database.writing() as connection:
        await members.put(connection, (await accounts.by_name(connection, name)).id, project, role)
    return token
