"""Which of many sessions and tokens still live, and what each may do now: one statement for all listeners of an API."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from dao.accounts.sessions import IDLE_MAX
from dao.postgres.pool import AsyncConnection
from dao.postgres.sql import Sql
from model.accounts.rights import Role, Scope
from model.ids import LoginSessionId, TokenId


@dataclass(frozen=True, slots=True)
class Living:
    """A session or a token that lives, and what its account may do. `scopes`, `projects`: see `FoundToken`."""

    session: LoginSessionId | None
    token: TokenId | None
    is_admin: bool
    roles: dict[str, Role]
    scopes: frozenset[Scope] | None
    projects: frozenset[str] | None


_LIVING = Sql("""
    WITH living AS (
        SELECT s.id AS session, NULL::bigint AS token, s.account_id, NULL::text[] AS scopes, NULL::text[] AS projects
        FROM login_session s
        WHERE s.id = ANY(CAST(:sessions AS bigint[])) AND s.expires_at > clock_timestamp()
          AND s.last_seen_at > clock_timestamp() - :idle
        UNION ALL
        SELECT NULL, t.id, t.account_id, t.scopes, t.projects FROM token t
        WHERE t.id = ANY(CAST(:tokens AS bigint[])) AND t.revoked_at IS NULL AND t.expires_at > clock_timestamp()
    )
    SELECT l.session, l.token, a.is_admin, l.scopes, l.projects,
           (SELECT jsonb_object_agg(m.project, m.role) FROM project_member m WHERE m.account_id = a.id) AS roles
    FROM living l JOIN account a ON a.id = l.account_id
    WHERE a.disabled_at IS NULL
""")


async def living(
    connection: AsyncConnection, sessions: Collection[LoginSessionId], tokens: Collection[TokenId]
) -> list[Living]:
    """Those of these sessions and tokens that live. It does not count as a use of them."""
    values = {"sessions": list(sessions), "tokens": list(tokens), "idle": IDLE_MAX}
    found = []
    for row in await connection.execute(_LIVING, values):
        roles = {project: Role(role) for project, role in (row.roles or {}).items()}
        scopes = None if row.scopes is None else frozenset(Scope(each) for each in row.scopes if each in set(Scope))
        projects = None if row.projects is None else frozenset(row.projects)
        found.append(Living(row.session, row.token, row.is_admin, roles, scopes, projects))
    return found
