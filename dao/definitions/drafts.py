"""`workflow_draft`: what people have written of workflows and not published, a row for each person and workflow."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection


@dataclass(frozen=True, slots=True)
class DraftHead:
    """A draft without its content. `base_version` is the version from which it began, None = there was no workflow.

    `size` is that of the content in bytes; `revision` rises with each change.
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


_COLUMNS = "person, project, name, base_version, revision, created_at, updated_at, octet_length(content)"
_KEY = "person = :person AND project = :project AND name = :name"
_LIST = text(f"SELECT {_COLUMNS} FROM workflow_draft WHERE person = :person ORDER BY project, name")  # noqa: S608
_FIND = text(f"SELECT {_COLUMNS}, content FROM workflow_draft WHERE {_KEY}")  # noqa: S608
_INSERT = text(f"""
    INSERT INTO workflow_draft (person, project, name, content, base_version)
    VALUES (:person, :project, :name, :content, CAST(:base_version AS integer))
    ON CONFLICT DO NOTHING RETURNING {_COLUMNS}
""")  # noqa: S608
_UPDATE = text(f"""
    UPDATE workflow_draft SET content = :content, base_version = CAST(:base_version AS integer),
           revision = revision + 1, updated_at = clock_timestamp()
    WHERE {_KEY} AND revision = :revision RETURNING {_COLUMNS}
""")  # noqa: S608
_DELETE = text(f"DELETE FROM workflow_draft WHERE {_KEY} AND revision = :revision")  # noqa: S608


async def drafts_of(connection: AsyncConnection, person: str) -> list[DraftHead]:
    """The drafts of a person, by project and name."""
    return [DraftHead(*row) for row in (await connection.execute(_LIST, {"person": person})).all()]


async def find(connection: AsyncConnection, person: str, project: str, name: str) -> Draft | None:
    """The draft of a person for a workflow."""
    row = (await connection.execute(_FIND, {"person": person, "project": project, "name": name})).first()
    return None if row is None else Draft(DraftHead(*row[:-1]), row[-1])


async def insert(
    connection: AsyncConnection, person: str, project: str, name: str, content: str, base_version: int | None
) -> DraftHead | None:
    """Make a draft; None if there is one already."""
    values = {"person": person, "project": project, "name": name, "content": content, "base_version": base_version}
    row = (await connection.execute(_INSERT, values)).first()
    return None if row is None else DraftHead(*row)


async def update(
    connection: AsyncConnection, seen: DraftHead, revision: int, content: str, base_version: int | None
) -> DraftHead | None:
    """Change a draft if it still has that revision; None if not."""
    values = {**_key(seen), "revision": revision, "content": content, "base_version": base_version}
    row = (await connection.execute(_UPDATE, values)).first()
    return None if row is None else DraftHead(*row)


async def delete(connection: AsyncConnection, seen: DraftHead, revision: int) -> bool:
    """Delete a draft if it still has that revision."""
    return (await connection.execute(_DELETE, {**_key(seen), "revision": revision})).rowcount == 1


def _key(head: DraftHead) -> dict[str, object]:
    return {"person": head.person, "project": head.project, "name": head.name}
