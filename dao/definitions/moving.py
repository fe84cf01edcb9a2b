"""A workflow's way into another project. Its versions, schedules and runs have its code, so they come along."""

from __future__ import annotations

from collections.abc import Collection

import psycopg

from dao.postgres.notify import changed
from dao.postgres.pool import AsyncConnection
from dao.postgres.sql import Sql
from model.changes import Changes
from model.errors import Refused
from model.ids import WorkflowCode

# Only after its new version is saved: a trigger forgets the waits for datasets of projects that it no longer names.
_MOVE = Sql("UPDATE workflow_definition SET project = :project, updated_at = clock_timestamp() WHERE code = :code")
_DRAFTS = Sql("SELECT count(*) FROM workflow_draft WHERE project = :project AND name = :name")
# Asked by people only, of one workflow: its versions.
_NAMING = Sql("""
    SELECT count(*) FROM workflow_version
    WHERE workflow_code = :code AND version < :version AND spec::text ~ '"(workflow|datasource|data_sources)":'
""")
# Asked by people only. Index: workflow_version_triggered.
_WAITING = Sql("""
    SELECT DISTINCT d.project, d.name
    FROM workflow_definition d JOIN workflow_version v ON v.workflow_code = d.code AND v.version = d.version
    CROSS JOIN LATERAL jsonb_array_elements(v.triggers) AS t
    WHERE v.triggers <> '[]' AND d.code <> :code AND coalesce(t ->> 'project', d.project) = :project
      AND (t ->> 'dataset' = ANY(CAST(:datasets AS text[])) OR t -> 'datasets' ?| CAST(:datasets AS text[]))
    ORDER BY d.project, d.name
""")
_SILENCES = Sql("""
    SELECT id FROM alert_silence WHERE project = :project AND workflow = :name AND ends_at > clock_timestamp()
    ORDER BY id
""")


async def move(connection: AsyncConnection, code: WorkflowCode, project: str) -> None:
    """Put a workflow into a project. Raises `Refused`: it has one of that name, perhaps since a moment."""
    try:
        await connection.execute(_MOVE, {"code": code, "project": project})
    except psycopg.errors.UniqueViolation as error:
        raise Refused(f'project "{project}" has a workflow of that name already: somebody was faster') from error
    await changed(connection, Changes(definitions={code}))


async def naming_before(connection: AsyncConnection, code: WorkflowCode, version: int) -> int:
    """How many of the versions before this one name workflows or data sources."""
    count: int = (await connection.execute(_NAMING, {"code": code, "version": version})).scalar_one()
    return count


async def drafts_of(connection: AsyncConnection, project: str, name: str) -> int:
    """How many people have a draft of this workflow."""
    count: int = (await connection.execute(_DRAFTS, {"project": project, "name": name})).scalar_one()
    return count


async def waiting_for(
    connection: AsyncConnection, code: WorkflowCode, project: str, datasets: Collection[str]
) -> list[tuple[str, str]]:
    """The projects and names of other workflows that updates of these datasets start."""
    rows = await connection.execute(_WAITING, {"code": code, "project": project, "datasets": list(datasets)})
    return [(row.project, row.name) for row in rows.all()]


async def silences_of(connection: AsyncConnection, project: str, name: str) -> list[int]:
    """The silences of this workflow that have not ended."""
    return (await connection.execute(_SILENCES, {"project": project, "name": name})).scalars()
