"""The versions of a workflow: when each was saved, and the runs that use it."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import text

from dao.postgres.engine import AsyncConnection
from model.ids import WorkflowCode

# Asked by people only; the runs of one workflow are found by workflow_instance_time.
_VERSIONS = text("""
    SELECT v.version, v.created_at, v.created_by,
           CASE WHEN jsonb_typeof(v.spec -> 'tasks') = 'array' THEN jsonb_array_length(v.spec -> 'tasks') ELSE 0 END,
           coalesce(r.runs, 0), coalesce(r.unfinished, 0)
    FROM workflow_version v
    LEFT JOIN (
        SELECT workflow_version, count(*) AS runs, count(*) FILTER (WHERE ended_at IS NULL) AS unfinished
        FROM workflow_instance WHERE workflow_code = :code GROUP BY workflow_version
    ) AS r ON r.workflow_version = v.version
    WHERE v.workflow_code = :code AND v.version < :before
    ORDER BY v.version DESC LIMIT :limit
""")
VERSION_MAX = 2**31 - 1


@dataclass(frozen=True, slots=True)
class Version:
    """One version. `unfinished` of its `runs` have not ended."""

    version: int
    created_at: datetime
    created_by: str
    tasks: int
    runs: int
    unfinished: int


_AUTHORSHIP = text("""
    SELECT version, created_by, created_at FROM workflow_version WHERE workflow_code = :code AND version = :version
""")

_AUTHORSHIPS = text("""
    SELECT workflow_code, version, created_by, created_at FROM workflow_version        -- index: workflow_version_pkey
    JOIN unnest(CAST(:codes AS bigint[]), CAST(:versions AS integer[])) AS wanted (wanted_code, wanted_version)
      ON workflow_code = wanted_code AND version = wanted_version
""")

_SINCE = text("""
    SELECT version, created_by, created_at FROM workflow_version WHERE workflow_code = :code AND version > :version
    ORDER BY version DESC LIMIT :limit
""")


@dataclass(frozen=True, slots=True)
class Authorship:
    """Who saved a version, and when."""

    version: int
    created_by: str
    created_at: datetime


async def authorship(connection: AsyncConnection, code: WorkflowCode, version: int) -> Authorship | None:
    """Who saved a version; None if there is no such version."""
    row = (await connection.execute(_AUTHORSHIP, {"code": code, "version": version})).first()
    return None if row is None else Authorship(*row)


async def authorships(
    connection: AsyncConnection, wanted: Collection[tuple[WorkflowCode, int]]
) -> dict[WorkflowCode, Authorship]:
    """Who saved a version each of some workflows; a version that is not there is left out."""
    values = {"codes": [code for code, _ in wanted], "versions": [version for _, version in wanted]}
    rows = (await connection.execute(_AUTHORSHIPS, values)).all()
    return {WorkflowCode(row[0]): Authorship(*row[1:]) for row in rows}


async def authorships_since(
    connection: AsyncConnection, code: WorkflowCode, version: int, limit: int
) -> list[Authorship]:
    """Who saved up to `limit` versions after this one, the newest first."""
    values = {"code": code, "version": version, "limit": limit}
    return [Authorship(*row) for row in (await connection.execute(_SINCE, values)).all()]


async def versions_of(
    connection: AsyncConnection, code: WorkflowCode, limit: int, before: int | None = None
) -> list[Version]:
    """Up to `limit` versions of a workflow, the newest first; only those older than `before`."""
    values = {"code": code, "limit": limit, "before": VERSION_MAX if before is None else before}
    return [Version(*row) for row in (await connection.execute(_VERSIONS, values)).all()]
