"""`project_member`: the role of an account in a project; and which tenants and worker groups a project may use."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import text

from dao.postgres.engine import AsyncConnection
from model.ids import AccountId, WorkflowCode, WorkflowInstanceId
from model.rights import Role, may_use


@dataclass(frozen=True, slots=True)
class Member:
    """A member of a project."""

    account: AccountId
    name: str
    role: Role
    created_at: datetime
    disabled: bool


@dataclass(frozen=True, slots=True)
class ProjectLimits:
    """The only tenants and worker groups that the tasks of a project may name; empty = all."""

    tenants: frozenset[str] = frozenset()
    worker_groups: frozenset[str] = frozenset()

    def allow_tenant(self, tenant: str) -> bool:
        """Whether a task may run as this user of the operating system."""
        return may_use(self.tenants, tenant)

    def allow_worker_group(self, group: str) -> bool:
        """Whether a task may run on these workers."""
        return may_use(self.worker_groups, group)


_OF_PROJECT = text("""
    SELECT a.id, a.name, m.role, m.created_at, a.disabled_at IS NOT NULL
    FROM project_member m JOIN account a ON a.id = m.account_id
    WHERE m.project = :project ORDER BY lower(a.name)
""")
# Locks the rows, so that of two that remove the last two owners one sees the other.
_HOLD = text("""
    SELECT account_id, role FROM project_member WHERE project = :project ORDER BY account_id FOR UPDATE
""")
_PUT = text("""
    INSERT INTO project_member (account_id, project, role) VALUES (:account, :project, :role)
    ON CONFLICT (account_id, project) DO UPDATE SET role = excluded.role
""")
_REMOVE = text("DELETE FROM project_member WHERE account_id = :account AND project = :project")
_ROLES = text("SELECT project, role FROM project_member WHERE account_id = :account ORDER BY project")
_LIMITS = text("SELECT tenants, worker_groups FROM project WHERE name = :project")
_LIMITED_RUNS = text("""
    SELECT i.workflow_code, i.workflow_version, i.worker_group, array_agg(i.id)
    FROM workflow_instance i                                                -- index: workflow_instance_pkey
    JOIN workflow_definition d ON d.code = i.workflow_code
    JOIN project p ON p.name = d.project
    WHERE i.id = ANY(CAST(:runs AS bigint[])) AND (p.tenants IS NOT NULL OR p.worker_groups IS NOT NULL)
    GROUP BY 1, 2, 3 ORDER BY 1, 2, 3
""")
_HOLD_LIMITS = text("""
    INSERT INTO project (name) VALUES (:project) ON CONFLICT (name) DO UPDATE SET name = excluded.name
    RETURNING tenants, worker_groups
""")
_LIMIT = text("""
    UPDATE project SET tenants = CAST(:tenants AS text[]), worker_groups = CAST(:worker_groups AS text[])
    WHERE name = :project
""")


async def of_project(connection: AsyncConnection, project: str) -> Sequence[Member]:
    """The members of a project, by name."""
    rows = (await connection.execute(_OF_PROJECT, {"project": project})).all()
    return [Member(AccountId(row[0]), row[1], Role(row[2]), row[3], row[4]) for row in rows]


async def held(connection: AsyncConnection, project: str) -> dict[AccountId, Role]:
    """The members of a project; those rows stay so until the transaction ends."""
    rows = (await connection.execute(_HOLD, {"project": project})).all()
    return {AccountId(account): Role(role) for account, role in rows}


async def roles(connection: AsyncConnection, account: AccountId) -> dict[str, Role]:
    """The roles of an account, by project."""
    rows = (await connection.execute(_ROLES, {"account": account})).all()
    return {project: Role(role) for project, role in rows}


async def put(connection: AsyncConnection, account: AccountId, project: str, role: Role) -> None:
    """Give an account this role in a project, in place of another."""
    await connection.execute(_PUT, {"account": account, "project": project, "role": role})


async def remove(connection: AsyncConnection, account: AccountId, project: str) -> bool:
    """Take the role of an account in a project away; whether it had one."""
    return (await connection.execute(_REMOVE, {"account": account, "project": project})).rowcount > 0


async def limits(connection: AsyncConnection, project: str) -> ProjectLimits:
    """What a project may use; all, if it has no row."""
    return _limits((await connection.execute(_LIMITS, {"project": project})).first())


async def limited_runs(
    connection: AsyncConnection, runs: Collection[WorkflowInstanceId]
) -> list[tuple[WorkflowCode, int, str, list[WorkflowInstanceId]]]:
    """Workflow, version and worker group of those of these runs whose project is limited; each once, with its runs."""
    rows = await connection.execute(_LIMITED_RUNS, {"runs": sorted(set(runs))})
    return [(WorkflowCode(code), version, group, ids) for code, version, group, ids in rows.all()]


async def set_limits(
    connection: AsyncConnection, project: str, tenants: Collection[str], worker_groups: Collection[str]
) -> ProjectLimits:
    """Say what a project may use, empty = all; a project without a row gets one. Returns what it might use before."""
    before = _limits((await connection.execute(_HOLD_LIMITS, {"project": project})).first())
    values = {"tenants": sorted(tenants) or None, "worker_groups": sorted(worker_groups) or None}
    await connection.execute(_LIMIT, {"project": project, **values})
    return before


def _limits(row: Sequence[Sequence[str] | None] | None) -> ProjectLimits:
    return ProjectLimits() if row is None else ProjectLimits(*(frozenset(each or ()) for each in row))
