"""What a start needs to know of a workflow besides its content: its head, and the limits of its project."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from sqlalchemy import text

from dao.accounts.members import ProjectLimits
from dao.definitions.definitions import Definition
from dao.postgres.engine import AsyncConnection
from model.choices import ReleaseState
from model.ids import WorkflowCode

# index: workflow_definition_pkey, and the name of each project
_FIND = text("""
    SELECT d.code, d.project, d.name, d.version, d.release_state, coalesce(p.params, '{}') AS project_params,
           p.tenants, p.worker_groups
    FROM workflow_definition d LEFT JOIN project p ON p.name = d.project
    WHERE d.code = ANY(CAST(:codes AS bigint[]))
""")


@dataclass(frozen=True, slots=True)
class Startable:
    """A workflow that may be asked to start."""

    head: Definition
    limits: ProjectLimits


async def find(connection: AsyncConnection, codes: Collection[WorkflowCode]) -> dict[WorkflowCode, Startable]:
    """The workflows with these codes; those that do not exist are missing."""
    rows = (await connection.execute(_FIND, {"codes": list(codes)})).all()
    return {
        WorkflowCode(code): Startable(
            Definition(WorkflowCode(code), project, name, version, ReleaseState(state), params),
            ProjectLimits(frozenset(tenants or ()), frozenset(worker_groups or ())),
        )
        for code, project, name, version, state, params, tenants, worker_groups in rows
    }
