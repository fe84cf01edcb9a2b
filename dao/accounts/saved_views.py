"""`saved_view`: named filters of lists, of a person alone or shared with the members of a project."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from dao.accounts.rows import SavedView
from dao.postgres.pool import AsyncConnection
from dao.postgres.sql import Sql
from dao.postgres.statements import missing, statement

Filters = Mapping[str, Any]
"""Names of filters and their values."""


@dataclass(frozen=True, slots=True)
class Holder:
    """Whose views: those of `person`, the key of a caller, alone, or those that are shared with a project."""

    person: str
    project: str | None


_LOCK_ROW = Sql("SELECT FROM saved_view WHERE id = :id FOR UPDATE")
_COUNT_OWN = Sql("SELECT count(*) FROM saved_view WHERE person = :person AND project IS NULL")
_COUNT_SHARED = Sql("SELECT count(*) FROM saved_view WHERE project = :project")
_INSERT = Sql("""
    INSERT INTO saved_view (person, project, list, name, query, created_by)
    VALUES (:person, CAST(:project AS text), :list, :name, CAST(:query AS jsonb), :created_by)
    ON CONFLICT DO NOTHING
    RETURNING id, person, project, list, name, query, revision, created_by, created_at, updated_at
""")
_UPDATE = Sql("""
    UPDATE saved_view SET name = :name, query = CAST(:query AS jsonb), revision = revision + 1,
           updated_at = clock_timestamp()
    WHERE id = :id AND NOT EXISTS (
        SELECT FROM saved_view other
        WHERE other.id <> :id AND other.list = saved_view.list AND other.name = :name
          AND (other.project = saved_view.project
               OR other.project IS NULL AND saved_view.project IS NULL AND other.person = saved_view.person))
    RETURNING id, person, project, list, name, query, revision, created_by, created_at, updated_at
""")
# One change at a time for each person and project: two at once could exceed the limit, or make two views of one name.
_LOCK = Sql("SELECT pg_advisory_xact_lock(hashtextextended(:of, 10))")


# Two parts, so that each walks its own index: the views of other people are not read.
@statement("""
    SELECT * FROM (
        SELECT id, person, project, list, name, query, revision, created_by, created_at, updated_at
        FROM saved_view                                                         -- index: saved_view_own
        WHERE person = :person AND project IS NULL AND list = coalesce(CAST(:of_list AS text), list)
        UNION ALL
        SELECT id, person, project, list, name, query, revision, created_by, created_at, updated_at
        FROM saved_view                                                         -- index: saved_view_shared
        WHERE project IS NOT NULL AND list = coalesce(CAST(:of_list AS text), list)
          AND (CAST(:visible AS text[]) IS NULL OR project = ANY(CAST(:visible AS text[])))
    ) AS seen
    WHERE id > :after ORDER BY id LIMIT :limit
""")
async def page(
    connection: AsyncConnection,
    person: str,
    limit: int,
    *,
    after: int = 0,
    of_list: str | None = None,
    visible: Collection[str] | None = None,
) -> list[SavedView]:
    """Up to `limit` views that a person sees, by id: the person's own, and those shared with projects.

    Args:
        after: the last id of the page before.
        of_list: only views of this list.
        visible: only those shared with these projects; None = with any.
    """


@missing("there is no saved view {id_}")
@statement("""
    SELECT id, person, project, list, name, query, revision, created_by, created_at, updated_at
    FROM saved_view WHERE id = :id_
""")
async def find(connection: AsyncConnection, id_: int) -> SavedView:
    """A view. Raises `NotFound`."""


async def hold(connection: AsyncConnection, id_: int) -> SavedView:
    """A view that no other transaction changes until this one ends. Raises `NotFound`."""
    await connection.execute(_LOCK_ROW, {"id": id_})
    return await find(connection, id_)


async def count(connection: AsyncConnection, of: Holder) -> int:
    """How many views these are; until this transaction ends no other one makes or changes one of them."""
    await _lock(connection, of)
    statement = _COUNT_OWN if of.project is None else _COUNT_SHARED
    return int((await connection.execute(statement, asdict(of))).scalar_one())


async def insert(
    connection: AsyncConnection, of: Holder, of_list: str, name: str, query: Filters, created_by: str
) -> SavedView | None:
    """Make a view; None if there is one of this name."""
    values = {**asdict(of), "list": of_list, "name": name, "created_by": created_by}
    row = (await connection.execute(_INSERT, {**values, "query": json.dumps(query)})).first()
    return None if row is None else SavedView(*row)


async def update(connection: AsyncConnection, view: SavedView, name: str, query: Filters) -> SavedView | None:
    """Change a view that is held; None if another one has this name."""
    await _lock(connection, Holder(view.person, view.project))
    row = (await connection.execute(_UPDATE, {"id": view.id, "name": name, "query": json.dumps(query)})).first()
    return None if row is None else SavedView(*row)


@statement("DELETE FROM saved_view WHERE id = :id_")
async def delete(connection: AsyncConnection, id_: int) -> None: ...


async def _lock(connection: AsyncConnection, of: Holder) -> None:
    name = f"saved_view of {of.person}" if of.project is None else f"saved_view in {of.project}"
    await connection.execute(_LOCK, {"of": name})
