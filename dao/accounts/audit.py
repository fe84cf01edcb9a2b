"""`audit`: who changed what. Written in the transaction that makes the change; never changed, never deleted here."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from dao.postgres.pool import AsyncConnection
from dao.postgres.row_arrays import RowArrays
from dao.postgres.sql import Sql, filtered
from model.accounts.audits import ActorKind, Outcome, masked
from model.ids import AccountId, AuditId


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """What is written; `before` and `after` are JSON values of what changed, masked when they are written."""

    actor_kind: ActorKind
    actor: str
    account: AccountId | None
    action: str
    object_kind: str
    object_id: str | None = None
    object_name: str | None = None
    project: str | None = None
    before: Mapping[str, Any] | None = None
    after: Mapping[str, Any] | None = None
    address: str = ""
    request_id: str = ""
    outcome: Outcome = Outcome.DONE


@dataclass(frozen=True, slots=True)
class AuditRow:
    """A written entry; `at` is aware UTC, database time."""

    id: AuditId
    at: datetime
    entry: AuditEntry


@dataclass(frozen=True, slots=True)
class AuditFilter:
    """Which entries are wanted; None = any. `projects` None = all projects, and what belongs to none."""

    projects: Collection[str] | None = None
    actor: str | None = None
    object_kind: str | None = None
    object_id: str | None = None
    action: str | None = None
    outcome: Outcome | None = None
    since: datetime | None = None
    until: datetime | None = None


_CONDITIONS = {
    **{name: f"{name} = :{name}" for name in ("actor", "object_kind", "object_id", "action", "outcome")},
    "since": "at >= :since",
    "until": "at < :until",
}
_INSERT = Sql("""
    INSERT INTO audit (actor_kind, actor, account_id, action, object_kind, object_id, object_name, project, before,
                       after, address, request_id, outcome)
    SELECT actor_kind, actor, account, action, object_kind, object_id, object_name, project, before, after, address,
           request_id, outcome
    FROM unnest(CAST(:actor_kind AS text[]), CAST(:actor AS text[]), CAST(:account AS bigint[]),
                CAST(:action AS text[]), CAST(:object_kind AS text[]), CAST(:object_id AS text[]),
                CAST(:object_name AS text[]), CAST(:project AS text[]), CAST(:before AS jsonb[]),
                CAST(:after AS jsonb[]), CAST(:address AS text[]), CAST(:request_id AS text[]),
                CAST(:outcome AS text[]))
         AS n (actor_kind, actor, account, action, object_kind, object_id, object_name, project, before, after,
               address, request_id, outcome)
""")
_ROWS = RowArrays(_INSERT, {"before": lambda entry: _json(entry.before), "after": lambda entry: _json(entry.after)})
# index: the primary key, audit_actor, audit_object, audit_action or audit_denied
_PAGE = """
    SELECT id, at, actor_kind, actor, account_id, action, object_kind, object_id, object_name, project, before, after,
           address, request_id, outcome
    FROM audit WHERE id < :before_id{condition}
    ORDER BY id DESC LIMIT :limit
"""
# index: audit_project, once for each project, so that entries of others are not read
_PAGE_OF_PROJECTS = """
    SELECT e.* FROM unnest(CAST(:projects AS text[])) AS wanted (name)
    CROSS JOIN LATERAL (
        SELECT id, at, actor_kind, actor, account_id, action, object_kind, object_id, object_name, project, before,
               after, address, request_id, outcome
        FROM audit WHERE project = wanted.name AND id < :before_id{condition}
        ORDER BY id DESC LIMIT :limit
    ) e ORDER BY e.id DESC LIMIT :limit
"""


async def insert(connection: AsyncConnection, entries: Sequence[AuditEntry]) -> None:
    """Write these entries with the change that they are about, in the caller's transaction."""
    await connection.execute(_INSERT, _ROWS.values(entries))


async def page(
    connection: AsyncConnection, wanted: AuditFilter, limit: int, before: AuditId | None = None
) -> list[AuditRow]:
    """The last `limit` entries, or those before one of them, newest first."""
    values: dict[str, object] = {"before_id": before or 2**63 - 1, "limit": limit}
    conditions = ""
    for name, condition in _CONDITIONS.items():
        if (value := getattr(wanted, name)) is not None:
            conditions += f" AND {condition}"
            values[name] = value
    statement = _PAGE
    if wanted.projects is not None:
        statement, values["projects"] = _PAGE_OF_PROJECTS, sorted(set(wanted.projects))
    rows = await connection.execute(filtered(statement, conditions, values))
    return [_row(*row) for row in rows.all()]


def _row(id_: int, at: datetime, *fields: Any) -> AuditRow:
    kind, *plain, outcome = fields
    return AuditRow(AuditId(id_), at, AuditEntry(*[ActorKind(kind), *plain, Outcome(outcome)]))


def _json(value: Mapping[str, Any] | None) -> str | None:
    return None if value is None else json.dumps(masked(value), default=str)
