"""The versions of a workflow: when each was saved, the runs that use it, its source text and its layout."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime

from pydantic import ValidationError

from dao.postgres.pool import AsyncConnection
from dao.postgres.rows import Row
from dao.postgres.sql import Sql
from dao.postgres.statements import made_by, statement
from model.definitions.layout import Layout
from model.ids import WorkflowCode


@dataclass(frozen=True)
class Version:
    """One version. `unfinished` of its `runs` have not ended."""

    version: int
    created_at: datetime
    created_by: str
    tasks: int
    runs: int
    unfinished: int


@dataclass(frozen=True)
class Authorship:
    """Who saved a version, and when."""

    version: int
    created_by: str
    created_at: datetime


@dataclass(frozen=True, slots=True)
class ListedVersion:
    """Who saved a version and when, and the tags that it gives its workflow."""

    created_by: str
    created_at: datetime
    tags: Sequence[str]


_READ_LAYOUT = Sql("SELECT layout::text FROM workflow_version WHERE workflow_code = :code AND version = :version")
_WRITE_LAYOUT = Sql("""
    UPDATE workflow_version SET layout = CAST(:layout AS jsonb) WHERE workflow_code = :code AND version = :version
""")


@statement("""
    SELECT version, created_by, created_at FROM workflow_version WHERE workflow_code = :code AND version = :version
""")
async def authorship(connection: AsyncConnection, code: WorkflowCode, version: int) -> Authorship | None:
    """Who saved a version; None if there is no such version."""


def _listed(row: Row) -> ListedVersion:
    tags = [tag for tag in json.loads(row.tags) if isinstance(tag, str)]
    return ListedVersion(row.created_by, row.created_at, tags)


@made_by(_listed)
@statement("""
    SELECT workflow_code, created_by, created_at, tags::text FROM workflow_version     -- index: workflow_version_pkey
    JOIN unnest(CAST(:wanted.0 AS bigint[]), CAST(:wanted.1 AS integer[])) AS wanted (wanted_code, wanted_version)
      ON workflow_code = wanted_code AND version = wanted_version
""")
async def listed(
    connection: AsyncConnection, wanted: Collection[tuple[WorkflowCode, int]]
) -> dict[WorkflowCode, ListedVersion]:
    """What a list says of a version each of some workflows; a version that is not there is left out."""


@statement("""
    SELECT version, created_by, created_at FROM workflow_version WHERE workflow_code = :code AND version > :version
    ORDER BY version DESC LIMIT :limit
""")
async def authorships_since(
    connection: AsyncConnection, code: WorkflowCode, version: int, limit: int
) -> list[Authorship]:
    """Who saved up to `limit` versions after this one, the newest first."""


# Asked by people only; the runs of one workflow are found by workflow_instance_time.
@statement("""
    SELECT v.version, v.created_at, v.created_by,
           CASE WHEN jsonb_typeof(v.spec -> 'tasks') = 'array' THEN jsonb_array_length(v.spec -> 'tasks') ELSE 0 END,
           coalesce(r.runs, 0), coalesce(r.unfinished, 0)
    FROM workflow_version v
    LEFT JOIN (
        SELECT workflow_version, count(*) AS runs, count(*) FILTER (WHERE ended_at IS NULL) AS unfinished
        FROM workflow_instance WHERE workflow_code = :code GROUP BY workflow_version
    ) AS r ON r.workflow_version = v.version
    WHERE v.workflow_code = :code AND v.version < coalesce(CAST(:before AS integer), 2147483647)
    ORDER BY v.version DESC LIMIT :limit
""")
async def versions_of(
    connection: AsyncConnection, code: WorkflowCode, limit: int, before: int | None = None
) -> list[Version]:
    """Up to `limit` versions of a workflow, the newest first; only those older than `before`."""


@statement("SELECT source_text FROM workflow_version WHERE workflow_code = :code AND version = :version")
async def read_source(connection: AsyncConnection, code: WorkflowCode, version: int) -> str | None:
    """The text; None if the version has none, or is not there."""


# Rarely asked; it reads the texts of all current versions.
@statement("""
    SELECT d.code FROM workflow_definition d
    JOIN workflow_version v ON v.workflow_code = d.code AND v.version = d.version
    WHERE starts_with(v.source_text, :head) AND NOT d.is_trial
    ORDER BY d.project, d.name
""")
async def beginning_with(connection: AsyncConnection, head: str) -> list[WorkflowCode]:
    """The workflows whose current text begins with this."""


@statement("""
    UPDATE workflow_version SET source_text = :source
    WHERE workflow_code = :code AND version = :version AND source_text IS DISTINCT FROM :source
""")
async def write_source(connection: AsyncConnection, code: WorkflowCode, version: int, source: str) -> None:
    """Replace the text of a version; its secrets must be sealed."""


async def read_layout(connection: AsyncConnection, code: WorkflowCode, version: int) -> Layout:
    """The layout of a version; an empty one if it has none, or one written by hand that is not as it must be."""
    found = (await connection.execute(_READ_LAYOUT, {"code": code, "version": version})).scalar()
    try:
        return Layout() if found is None else Layout.model_validate_json(found)
    except ValidationError:
        return Layout()


async def write_layout(connection: AsyncConnection, code: WorkflowCode, version: int, layout: Layout) -> bool:
    """Replace the layout of a version; False if there is no such version."""
    values = {"code": code, "version": version, "layout": layout.model_dump_json()}
    return (await connection.execute(_WRITE_LAYOUT, values)).rowcount == 1


# By the primary key. What a person inserted may still have declarations among its `params`.
@statement("""
    SELECT workflow_code, version FROM workflow_version
    JOIN unnest(CAST(:versions.0 AS bigint[]), CAST(:versions.1 AS integer[])) AS wanted (wanted_code, wanted_version)
      ON workflow_code = wanted_code AND version = wanted_version
    WHERE jsonb_path_exists(spec, '$.declared.*.required ? (@ == true)')
       OR jsonb_path_exists(spec, '$.params.*.required ? (@ == true)')
""")
async def asking(
    connection: AsyncConnection, versions: Collection[tuple[WorkflowCode, int]]
) -> set[tuple[WorkflowCode, int]]:
    """Those of these versions that have a required parameter."""
