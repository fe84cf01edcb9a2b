"""`token`: what programs send. A request finds its token by one statement, with all its account's rights."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta

from dao.accounts.rows import TokenRow
from dao.postgres.pool import AsyncConnection
from dao.postgres.rows import Row
from dao.postgres.sql import Sql
from dao.postgres.statements import made_by, missing, statement
from model.accounts.rights import Role, Scope
from model.accounts.tokens import TokensEnd
from model.errors import Refused, Unauthenticated
from model.ids import AccountId, TokenId

SEEN_EVERY = timedelta(minutes=1)
_SCOPES = frozenset(Scope)


@dataclass(frozen=True, slots=True)
class FoundToken:
    """A token that is valid, and what its account may do now; `projects` None = not limited to some."""

    id: TokenId
    account: AccountId
    name: str
    is_admin: bool
    scopes: frozenset[Scope]
    projects: frozenset[str] | None
    roles: Mapping[str, Role]


@dataclass(frozen=True)
class NewToken:
    """A token to add; `projects` None = not limited to some."""

    name: str
    secret_hash: bytes
    scopes: Collection[Scope]
    projects: Collection[str] | None
    lives: timedelta
    by_session: bool = False


_INSERT = Sql("""
    INSERT INTO token (account_id, name, secret_hash, scopes, projects, by_session, expires_at)
    VALUES (:account, :name, :secret_hash, CAST(:scopes AS text[]), CAST(:projects AS text[]), :by_session,
            clock_timestamp() + :lives)
    ON CONFLICT (account_id, name) WHERE revoked_at IS NULL DO NOTHING
    RETURNING id, name, scopes, projects, by_session, created_at, expires_at, last_used_at, last_used_from, revoked_at
""")
_REVOKE_ALL = Sql("""
    UPDATE token SET revoked_at = clock_timestamp()
    WHERE account_id = :account AND revoked_at IS NULL AND expires_at > clock_timestamp()
      AND (by_session OR CAST(:all AS boolean))
    RETURNING id
""")


async def insert(connection: AsyncConnection, account: AccountId, new: NewToken) -> TokenRow:
    """Add a token. Raises `Refused`: the account has a token of this name."""
    projects = sorted(new.projects) if new.projects else None
    values = {**vars(new), "account": account, "scopes": sorted(new.scopes), "projects": projects}
    row = (await connection.execute(_INSERT, values)).first()
    if row is None:
        raise Refused(f'there is a token "{new.name[:100]}" already; revoke it, or choose another name')
    return TokenRow(row[0], row[1], tuple(row[2]), None if row[3] is None else tuple(row[3]), *row[4:])


def _found(row: Row) -> FoundToken:
    # A scope that a later version granted means nothing here.
    scopes = frozenset(Scope(each) for each in row.scopes if each in _SCOPES)
    projects = None if row.projects is None else frozenset(row.projects)
    roles = {project: Role(role) for project, role in (row.roles or {}).items()}
    return FoundToken(row.id, row.account_id, row.name, row.is_admin, scopes, projects, roles)


# index: token_secret, once for each; with a plain join the planner may read the whole table. Who finds a row locked
# leaves last_used_at to the other request.
@made_by(_found)
@statement("""
    WITH found AS MATERIALIZED (
        SELECT f.*, n.secret_hash, n.address
        FROM unnest(CAST(:wanted AS bytea[]), CAST(:wanted.values AS text[])) AS n (secret_hash, address)
        CROSS JOIN LATERAL (
            SELECT t.id, t.account_id, a.name, a.is_admin, t.scopes, t.projects, t.last_used_at
            FROM token t JOIN account a ON a.id = t.account_id
            WHERE t.secret_hash = n.secret_hash AND t.revoked_at IS NULL AND t.expires_at > clock_timestamp()
              AND a.disabled_at IS NULL
            LIMIT 1
        ) f
    ), due AS MATERIALIZED (
        SELECT t.id FROM token t
        WHERE t.id = ANY(ARRAY(SELECT id FROM found
                               WHERE last_used_at NOT BETWEEN clock_timestamp() - :SEEN_EVERY AND clock_timestamp()
                                  OR last_used_at IS NULL))
        FOR NO KEY UPDATE SKIP LOCKED
    ), used AS (
        UPDATE token SET last_used_at = clock_timestamp(),
                         last_used_from = (SELECT f.address FROM found f WHERE f.id = token.id)
        WHERE id = ANY(ARRAY(SELECT id FROM due))
    )
    SELECT secret_hash, id, account_id, name, is_admin, scopes, projects,
           (SELECT jsonb_object_agg(m.project, m.role) FROM project_member m WHERE m.account_id = found.account_id)
           AS roles
    FROM found
""")
async def find(connection: AsyncConnection, wanted: Mapping[bytes, str]) -> dict[bytes, FoundToken]:
    """The tokens with these secrets, by secret, which are now used; `wanted` has the address from which each is.

    Missing are those that are unknown, expired, revoked, or of a disabled account.
    """


@statement("""
    SELECT id, name, scopes, projects, by_session, created_at, expires_at, last_used_at, last_used_from, revoked_at
    FROM token WHERE account_id = :account AND id < coalesce(CAST(:before AS bigint), 9223372036854775807)
    ORDER BY id DESC LIMIT :limit
""")
async def of_account(
    connection: AsyncConnection, account: AccountId, limit: int, before: TokenId | None = None
) -> Sequence[TokenRow]:
    """The last `limit` tokens of an account, or those before one of them, newest first, with those that ended."""


@statement("""
    UPDATE token SET revoked_at = clock_timestamp()
    WHERE id = :token AND account_id = :account AND revoked_at IS NULL
    RETURNING id, name, scopes, projects, by_session, created_at, expires_at, last_used_at, last_used_from, revoked_at
""")
async def revoke(connection: AsyncConnection, account: AccountId, token: TokenId) -> TokenRow | None:
    """Revoke a token of this account; None if it has no such token that is not revoked."""


@missing(lambda: Unauthenticated("this token is unknown, revoked or expired; make a new one"))
@statement("SELECT by_session FROM token WHERE id = :token AND revoked_at IS NULL")
async def is_by_session(connection: AsyncConnection, token: TokenId) -> bool:
    """Whether a session made this token, directly or through another one. Raises `Unauthenticated`: it was revoked."""


async def revoke_all(connection: AsyncConnection, account: AccountId, which: TokensEnd) -> int:
    """Revoke these tokens of an account. Returns how many."""
    if which is TokensEnd.NONE:
        return 0
    values = {"account": account, "all": which is TokensEnd.ALL}
    return len((await connection.execute(_REVOKE_ALL, values)).all())
