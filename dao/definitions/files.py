"""`project_file` and `file_content`: the files of projects, each content once, by its hash."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from dao.postgres.database import FencedTransaction
from dao.postgres.pool import AsyncConnection
from dao.postgres.sql import Sql
from dao.postgres.statements import missing, statement
from model.errors import NotFound


@dataclass(frozen=True)
class ProjectFile:
    """A file without its content. `size` is in bytes, `hash` the SHA-256 in hexadecimal digits, the time aware."""

    path: str
    hash: str
    size: int
    changed_at: datetime
    changed_by: str


@dataclass(frozen=True, slots=True)
class FileUser:
    """A workflow whose current version has another content of a file than its project, or none of it."""

    code: int
    name: str


# The content first: the file's row refers to it. One that is there stays for another day, for who names it next.
_PUT_CONTENT = Sql("""
    INSERT INTO file_content (hash, content) VALUES (:hash, :content)
    ON CONFLICT (hash) DO UPDATE SET named_at = clock_timestamp()
""")
# No row if the file has this content.
_PUT = Sql("""
    INSERT INTO project_file (project, path, hash, changed_by) VALUES (:project, :path, :hash, :by)
    ON CONFLICT (project, path) DO UPDATE
        SET hash = excluded.hash, changed_at = clock_timestamp(), changed_by = excluded.changed_by
        WHERE project_file.hash <> excluded.hash
    RETURNING path
""")


def hash_of(content: bytes) -> str:
    """SHA-256 in hexadecimal digits."""
    return hashlib.sha256(content).hexdigest()


async def put(connection: AsyncConnection, project: str, path: str, content: bytes, by: str) -> bool:
    """Save a file; returns whether its content is another one than before."""
    name = hash_of(content)
    await connection.execute(_PUT_CONTENT, {"hash": name, "content": content})
    values = {"project": project, "path": path, "hash": name, "by": by}
    return (await connection.execute(_PUT, values)).first() is not None


@statement("""
    SELECT f.path, f.hash, octet_length(c.content), f.changed_at, f.changed_by
    FROM project_file f JOIN file_content c ON c.hash = f.hash
    WHERE f.project = :project AND f.path > :after                                   -- index: project_file_pkey
      AND starts_with(f.path, :under)
    ORDER BY f.path LIMIT :limit
""")
async def page(connection: AsyncConnection, project: str, limit: int, *, after: str, under: str) -> list[ProjectFile]:
    """Up to `limit` files of a project by path: those after the path `after` whose paths begin with `under`."""


def _not_found(project: str, path: str) -> NotFound:
    return NotFound(
        f'there is no file "{path[:200]}" in project "{project}"; `shoal project file list --project {project}` lists '
        f"those there are"
    )


@missing(_not_found)
@statement("""
    SELECT f.path, f.hash, octet_length(c.content), f.changed_at, f.changed_by, c.content
    FROM project_file f JOIN file_content c ON c.hash = f.hash
    WHERE f.project = :project AND f.path = :path                                    -- index: project_file_pkey
""")
async def find(connection: AsyncConnection, project: str, path: str) -> tuple[ProjectFile, bytes]:
    """A file and its content. Raises `NotFound`."""


@missing(_not_found)
@statement("DELETE FROM project_file WHERE project = :project AND path = :path RETURNING hash")
async def delete(connection: AsyncConnection, project: str, path: str) -> None:
    """Delete a file; versions keep its content. Raises `NotFound`."""


@statement("""
    SELECT path, hash FROM project_file
    WHERE project = :project                                                         -- index: project_file_pkey
      AND (path = ANY(CAST(:paths AS text[]))
           OR EXISTS (SELECT FROM unnest(CAST(:folders AS text[])) AS folder WHERE starts_with(path, folder)))
""")
async def hashes(
    connection: AsyncConnection, project: str, paths: Collection[str], folders: Collection[str]
) -> dict[str, str]:
    """The hashes of these files of a project, and of all files below these folders, by path; those that are there."""


@statement("""
    SELECT hash, content FROM file_content WHERE hash = ANY(CAST(:wanted AS text[]))  -- index: file_content_pkey
""")
async def contents(connection: AsyncConnection, wanted: Collection[str]) -> Mapping[str, bytes]:
    """The contents with these hashes; those that are there."""


# By the workflows of the project: it has few that name files.
@statement("""
    SELECT d.code, d.name FROM workflow_definition d
    JOIN version_file v ON v.workflow_code = d.code AND v.version = d.version AND v.path = :path
                                                                                     -- index: version_file_pkey
    WHERE d.project = :project AND v.hash IS DISTINCT FROM CAST(:content_hash AS text) ORDER BY d.name LIMIT :limit
""")
async def outdated(
    connection: AsyncConnection, project: str, path: str, content_hash: str | None, limit: int
) -> Sequence[FileUser]:
    """Workflows of the project, by name, whose current version has another content of this file."""


# What is about to be named was put within the day; the foreign keys hold what is named meanwhile.
@statement("""
    DELETE FROM file_content WHERE hash = ANY(ARRAY(
        SELECT c.hash FROM file_content c
        WHERE c.named_at < now() - CAST(:kept AS interval)
          AND NOT EXISTS (SELECT FROM project_file f WHERE f.hash = c.hash)           -- index: project_file_content
          AND NOT EXISTS (SELECT FROM version_file v WHERE v.hash = c.hash)           -- index: version_file_content
        LIMIT :limit))
""")
async def delete_unnamed(connection: FencedTransaction, kept: timedelta, limit: int) -> int:
    """Delete up to `limit` contents that nothing names and that were put longer ago. Returns how many."""
