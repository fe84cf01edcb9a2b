"""`alert_rule` as people write it: saved, listed, deleted. What masters make of it is in `dao/alerts/rules.py`."""

from __future__ import annotations

from collections.abc import Collection

from dao.alerts.rows import SavedRule
from dao.postgres.notify import ALERT_CHANGED
from dao.postgres.pool import AsyncConnection
from dao.postgres.sql import Sql
from dao.postgres.statements import missing, notifying, statement
from model.errors import NotFound

_LOCK = Sql("SELECT FROM alert_rule WHERE project = :project AND name = :name FOR UPDATE")


@statement("""
    SELECT id, project, name, text, enabled, problem, version, updated_at, updated_by FROM alert_rule
    WHERE (CAST(:visible AS text[]) IS NULL OR project = ANY(CAST(:visible AS text[])))
      AND (CAST(:project AS text) IS NULL OR project = :project)
      AND (CAST(:after.0 AS text) IS NULL OR (project, name) > (:after.0, :after.1))
    ORDER BY project, name LIMIT :limit
""")
async def page(
    connection: AsyncConnection,
    visible: Collection[str] | None,
    limit: int,
    *,
    project: str | None = None,
    after: tuple[str, str] | None = None,
) -> list[SavedRule]:
    """Up to `limit` rules of these projects (None = all), by project and name, after this one."""


async def hold(connection: AsyncConnection, project: str, name: str) -> SavedRule | None:
    """The rule, which nobody else changes until this transaction ends; None: there is none."""
    locked = (await connection.execute(_LOCK, {"project": project, "name": name})).rowcount
    return await find(connection, project, name) if locked else None


def not_found(project: str, name: str) -> NotFound:
    return NotFound(
        f'project "{project}" has no alert rule "{name[:200]}"; `shoal alert rule list` lists those there are'
    )


@missing(not_found)
@statement("""
    SELECT id, project, name, text, enabled, problem, version, updated_at, updated_by FROM alert_rule
    WHERE project = :project AND name = :name
""")
async def find(connection: AsyncConnection, project: str, name: str) -> SavedRule:
    """One of them. Raises `NotFound`."""


@notifying(ALERT_CHANGED)
@statement("""
    INSERT INTO alert_rule AS r (project, name, text, enabled, updated_by)
    VALUES (:project, :name, :words, :enabled, :by)
    ON CONFLICT (project, name) DO UPDATE
    SET text = :words, enabled = :enabled, version = r.version + 1, updated_by = :by
    RETURNING id, project, name, text, enabled, problem, version, updated_at, updated_by
""")
async def put(connection: AsyncConnection, project: str, name: str, words: str, by: str, *, enabled: bool) -> SavedRule:
    """Save or replace a rule; `words` have been checked."""


@notifying(ALERT_CHANGED)
@statement("DELETE FROM alert_rule WHERE id = :rule.id")
async def delete(connection: AsyncConnection, rule: SavedRule) -> None: ...
