"""A workflow's way into another project. Its versions, schedules and runs have its code, so they come along."""

from __future__ import annotations

from collections.abc import Collection

import psycopg

from dao.postgres.pool import AsyncConnection
from dao.postgres.statements import changing, statement
from model.changes import Changes
from model.errors import Refused
from model.ids import WorkflowCode


# Only after its new version is saved: a trigger forgets the waits for datasets of projects that it no longer names.
@changing(lambda code: Changes(definitions={code}))
@statement("UPDATE workflow_definition SET project = :project, updated_at = clock_timestamp() WHERE code = :code")
async def _move(connection: AsyncConnection, code: WorkflowCode, project: str) -> None: ...


async def move(connection: AsyncConnection, code: WorkflowCode, project: str) -> None:
    """Put a workflow into a project. Raises `Refused`: another of its name came there meanwhile."""
    try:
        await _move(connection, code, project)
    except psycopg.errors.UniqueViolation as error:
        raise Refused(
            f'project "{project}" has had a workflow of that name since a moment ago; rename one of the two first'
        ) from error


# Asked by people only, of one workflow: its versions.
@statement("""
    SELECT count(*) FROM workflow_version
    WHERE workflow_code = :code AND version < :version AND spec::text ~ '"(workflow|datasource|data_sources)":'
""")
async def naming_before(connection: AsyncConnection, code: WorkflowCode, version: int) -> int:
    """How many of the versions before this one name workflows or data sources."""


@statement("SELECT count(*) FROM workflow_draft WHERE project = :project AND name = :name")
async def drafts_of(connection: AsyncConnection, project: str, name: str) -> int:
    """How many people have a draft of this workflow."""


# Asked by people only. Index: workflow_version_triggered.
@statement("""
    SELECT DISTINCT d.project, d.name
    FROM workflow_definition d JOIN workflow_version v ON v.workflow_code = d.code AND v.version = d.version
    CROSS JOIN LATERAL jsonb_array_elements(v.triggers) AS t
    WHERE v.triggers <> '[]' AND d.code <> :code AND coalesce(t ->> 'project', d.project) = :project
      AND (t ->> 'dataset' = ANY(CAST(:datasets AS text[])) OR t -> 'datasets' ?| CAST(:datasets AS text[]))
    ORDER BY d.project, d.name
""")
async def waiting_for(
    connection: AsyncConnection, code: WorkflowCode, project: str, datasets: Collection[str]
) -> list[tuple[str, str]]:
    """The projects and names of other workflows that updates of these datasets start."""


@statement("""
    SELECT id FROM alert_silence WHERE project = :project AND workflow = :name AND ends_at > clock_timestamp()
    ORDER BY id
""")
async def silences_of(connection: AsyncConnection, project: str, name: str) -> list[int]:
    """The silences of this workflow that have not ended."""
