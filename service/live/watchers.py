"""Who watches: callers by their session or token, and what each may see now."""

from __future__ import annotations

from collections.abc import Hashable, Mapping

from dao.accounts import living
from dao.postgres.database import Database
from model.accounts.audits import ActorKind
from model.accounts.rights import Right
from service.callers import Caller
from service.live.hub import Recheck


def watcher_of(caller: Caller) -> Hashable:
    """What identifies a caller among the listeners: its session or its token."""
    return (caller.session, caller.token)


def recheck_in(database: Database) -> Recheck:
    """The check of a hub: which callers may still watch, and which projects each may see."""

    async def recheck(watchers: frozenset[Hashable]) -> Mapping[Hashable, frozenset[str] | None]:
        sessions = [each[0] for each in watchers if isinstance(each, tuple) and each[0] is not None]
        tokens = [each[1] for each in watchers if isinstance(each, tuple) and each[1] is not None]
        found = await database.read(living.living, sessions, tokens)
        allowed: dict[Hashable, frozenset[str] | None] = {}
        for each in found:
            kind = ActorKind.SESSION if each.session is not None else ActorKind.TOKEN
            caller = Caller(
                kind, "", is_admin=each.is_admin, roles=each.roles, scopes=each.scopes, projects=each.projects
            )
            allowed[(each.session, each.token)] = caller.projects_with(Right.VIEW)
        return allowed

    return recheck
