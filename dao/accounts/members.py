"""`project_member`: the role of an account in a project; and what a project may use."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime

from dao.postgres.pool import AsyncConnection
from dao.postgres.sql import Sql
from dao.postgres.statements import statement
from model.accounts.project_limits import LIMIT_COLUMNS, ProjectLimits
from model.accounts.rights import Role
from model.ids import AccountId, WorkflowCode, WorkflowInstanceId


@dataclass(frozen=True, slots=True)
class Member:
    """A member of a project."""

    account: AccountId
    name: str
    role: Role
    created_at: datetime
    disabled: bool


@dataclass(frozen=True, slots=True)
class LimitedRun:
    """A run whose project is limited, with what its start said."""

    id: WorkflowInstanceId
    project: str
    workflow_code: WorkflowCode
    workflow_version: int
    worker_group: str
    environment: str | None
    alert_group: str | None
    warning_type: str
    limits: ProjectLimits


_LIMIT = Sql("""
    UPDATE project
    SET tenants = CAST(:tenants AS text[]), worker_groups = CAST(:worker_groups AS text[]),
        environments = CAST(:environments AS text[]), data_sources = CAST(:data_sources AS text[]),
        alert_groups = CAST(:alert_groups AS text[])
    WHERE name = :project
""")


@statement("""
    SELECT project, role FROM project_member WHERE account_id = :account ORDER BY project   -- index: its primary key
""")
async def of_account(connection: AsyncConnection, account: AccountId) -> dict[str, Role]:
    """Project -> the role of an account in it."""


@statement("""
    SELECT a.id, a.name, m.role, m.created_at, a.disabled_at IS NOT NULL
    FROM project_member m JOIN account a ON a.id = m.account_id
    WHERE m.project = :project ORDER BY lower(a.name)
""")
async def of_project(connection: AsyncConnection, project: str) -> Sequence[Member]: ...


# Locks the rows, so that of two that remove the last two owners one sees the other.
@statement("""
    SELECT account_id, role FROM project_member WHERE project = :project ORDER BY account_id FOR UPDATE
""")
async def held(connection: AsyncConnection, project: str) -> dict[AccountId, Role]:
    """The members of a project; those rows stay so until the transaction ends."""


@statement("""
    INSERT INTO project_member (account_id, project, role) VALUES (:account, :project, :role)
    ON CONFLICT (account_id, project) DO UPDATE SET role = excluded.role
""")
async def put(connection: AsyncConnection, account: AccountId, project: str, role: Role) -> None:
    """Give an account this role in a project, in place of another."""


@statement("DELETE FROM project_member WHERE account_id = :account AND project = :project")
async def remove(connection: AsyncConnection, account: AccountId, project: str) -> bool:
    """Take the role of an account in a project away; whether it had one."""


@statement("""
    SELECT p.tenants, p.worker_groups, p.environments, p.data_sources, p.alert_groups
    FROM (SELECT) AS one LEFT JOIN project p ON p.name = :project
""")
async def limits(connection: AsyncConnection, project: str) -> ProjectLimits:
    """What a project may use; all, if it has no row."""


# The project of a deleted workflow is remembered, since its runs may go on; what nobody knows is of the default one.
@statement("""
    SELECT w.project, p.tenants, p.worker_groups, p.environments, p.data_sources, p.alert_groups
    FROM (SELECT coalesce((SELECT project FROM workflow_definition WHERE code = :code),
                          (SELECT project FROM deleted_workflow WHERE code = :code), 'default') AS project) w
    LEFT JOIN project p ON p.name = w.project
""")
async def of_workflow(connection: AsyncConnection, code: WorkflowCode) -> tuple[str, ProjectLimits]:
    """The project of a workflow, and what it may use."""


@statement("""
    SELECT i.id, d.project, i.workflow_code, i.workflow_version, i.worker_group, i.environment, i.alert_group,
           i.warning_type, p.tenants, p.worker_groups, p.environments, p.data_sources, p.alert_groups
    FROM workflow_instance i                                                -- index: workflow_instance_pkey
    JOIN workflow_definition d ON d.code = i.workflow_code
    JOIN project p ON p.name = d.project
    WHERE i.id = ANY(CAST(:runs AS bigint[]))
      AND coalesce(p.tenants, p.worker_groups, p.environments, p.data_sources, p.alert_groups) IS NOT NULL
    ORDER BY i.id
""")
async def limited_runs(connection: AsyncConnection, runs: Collection[WorkflowInstanceId]) -> list[LimitedRun]:
    """Those of these runs whose project is limited, by id."""


@statement("""
    INSERT INTO project AS p (name) VALUES (:project) ON CONFLICT (name) DO UPDATE SET name = excluded.name
    RETURNING p.tenants, p.worker_groups, p.environments, p.data_sources, p.alert_groups
""")
async def _hold_limits(connection: AsyncConnection, project: str) -> ProjectLimits: ...


async def set_limits(connection: AsyncConnection, project: str, limits: ProjectLimits) -> ProjectLimits:
    """Say what a project may use; a project without a row gets one. Returns what it might use before."""
    before = await _hold_limits(connection, project)
    values = {name: sorted(getattr(limits, name)) or None for name in LIMIT_COLUMNS}
    await connection.execute(_LIMIT, {"project": project, **values})
    return before
