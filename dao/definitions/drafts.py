"""`workflow_draft`: what people have written of workflows and not published, a row for each person and workflow."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

from dao.postgres.pool import AsyncConnection
from dao.postgres.statements import statement
from model.ids import WorkflowCode


@dataclass(frozen=True)
class DraftHead:
    """A draft without its content. `base_version` is the version from which it began, None = it names none.

    `size` is that of the content in bytes; `revision` rises with each change, and no draft gets one a second time.
    """

    person: str
    project: str
    name: str
    base_version: int | None
    revision: int
    created_at: datetime
    updated_at: datetime
    size: int


@dataclass(frozen=True, slots=True)
class Draft:
    """A draft and its content, YAML."""

    head: DraftHead
    content: str


@dataclass(frozen=True, slots=True)
class ListedDraft:
    """A draft in a list. `code` and `version` are those of its workflow now, None = there is none."""

    head: DraftHead
    code: WorkflowCode | None
    version: int | None


# The workflows by their names: one by one, since a person has few drafts, and a cluster may have many workflows.
@statement("""
    SELECT w.person, w.project, w.name, w.base_version, w.revision, w.created_at, w.updated_at, octet_length(w.content),
           d.code, d.version
    FROM workflow_draft w
    LEFT JOIN LATERAL (
        SELECT code, version FROM workflow_definition WHERE project = w.project AND name = w.name OFFSET 0) AS d ON true
    WHERE w.person = :person AND (w.project, w.name) > (:after.0, :after.1)
      AND w.project = coalesce(CAST(:project AS text), w.project)
      AND (CAST(:visible AS text[]) IS NULL OR w.project = ANY(CAST(:visible AS text[])))
    ORDER BY w.project, w.name LIMIT :limit
""")
async def drafts_of(
    connection: AsyncConnection,
    person: str,
    limit: int,
    *,
    after: tuple[str, str] = ("", ""),
    project: str | None = None,
    visible: Collection[str] | None = None,
) -> list[ListedDraft]:
    """Up to `limit` drafts of a person, by project and name.

    Args:
        after: project and name of the last one of the page before.
        project: only those of this project.
        visible: only those of these projects; None = of all.
    """


@statement("""
    SELECT person, project, name, base_version, revision, created_at, updated_at, octet_length(content), content
    FROM workflow_draft WHERE person = :person AND project = :project AND name = :name
""")
async def find(connection: AsyncConnection, person: str, project: str, name: str) -> Draft | None:
    """The draft of a person for a workflow."""


@statement("SELECT count(*) FROM workflow_draft WHERE person = :person")
async def count(connection: AsyncConnection, person: str) -> int: ...


@statement("""
    INSERT INTO workflow_draft (person, project, name, content, base_version)
    VALUES (:person, :project, :name, :content, CAST(:base_version AS integer))
    ON CONFLICT DO NOTHING
    RETURNING person, project, name, base_version, revision, created_at, updated_at, octet_length(content)
""")
async def insert(
    connection: AsyncConnection, person: str, project: str, name: str, content: str, base_version: int | None
) -> DraftHead | None:
    """Make a draft; None if there is one already."""


@statement("""
    UPDATE workflow_draft SET content = :content, base_version = CAST(:base_version AS integer),
           revision = DEFAULT, updated_at = clock_timestamp()
    WHERE person = :seen.person AND project = :seen.project AND name = :seen.name
      AND revision = :revision
    RETURNING person, project, name, base_version, revision, created_at, updated_at, octet_length(content)
""")
async def update(
    connection: AsyncConnection, seen: DraftHead, revision: int, content: str, base_version: int | None
) -> DraftHead | None:
    """Change a draft if it still has that revision; None if not."""


@statement("""
    DELETE FROM workflow_draft
    WHERE person = :seen.person AND project = :seen.project AND name = :seen.name
      AND revision = :revision
""")
async def delete(connection: AsyncConnection, seen: DraftHead, revision: int) -> bool:
    """Delete a draft if it still has that revision."""
