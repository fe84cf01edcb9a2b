"""The tenants and worker groups that a project may use; checked when a workflow is saved or started."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING

from dao.accounts import members
from dao.definitions import definitions
from model.errors import Refused
from model.ids import WorkflowInstanceId
from model.rights import may_use
from model.workflow import WorkflowSpec

if TYPE_CHECKING:
    from dao.accounts.members import ProjectLimits
    from dao.definitions.definitions import Definition
    from dao.postgres.engine import AsyncConnection


async def check_limits(
    connection: AsyncConnection, project: str, worker_groups: Iterable[str | None], tenants: Iterable[str | None] = ()
) -> None:
    """Return if the project may use all of these; None = not named. Raises `Refused`."""
    limits = await members.limits(connection, project)
    _check(project, "worker group", limits.worker_groups, worker_groups)
    _check(project, "tenant", limits.tenants, tenants)


async def check_limits_of_start(
    connection: AsyncConnection, head: Definition, version: int | None, worker_group: str | None
) -> None:
    """Refuse to start what was saved before its project was limited, and a worker group that a start names.

    A version that is missing or cannot be read is left to the master. Raises `Refused`.
    """
    limits = await members.limits(connection, head.project)
    if limits == members.ProjectLimits():
        return
    spec = await definitions.spec_of(connection, head.code, version or head.version)
    if isinstance(spec, WorkflowSpec):
        check_spec(head, limits, spec, worker_group)


def check_spec(head: Definition, limits: ProjectLimits, spec: WorkflowSpec, worker_group: str | None) -> None:
    """The same for what has been read. Raises `Refused`."""
    groups = [worker_group, spec.worker_group, *(task.worker_group for task in spec.tasks)]
    _check(head.project, "worker group", limits.worker_groups, groups)
    _check(head.project, "tenant", limits.tenants, [spec.tenant, *(task.tenant for task in spec.tasks)])


async def check_limits_of_reruns(connection: AsyncConnection, runs: Collection[WorkflowInstanceId]) -> None:
    """Refuse to run again what was started before its project was limited. Raises `Refused`."""
    for reason in (await refused_reruns(connection, runs)).values():
        raise Refused(reason)


async def refused_reruns(
    connection: AsyncConnection, runs: Collection[WorkflowInstanceId]
) -> dict[WorkflowInstanceId, str]:
    """Those of these runs that may not run again, since their project may not use what they need; with the reason."""
    limited = await members.limited_runs(connection, runs)
    heads = await definitions.heads(connection, {code for code, *_ in limited})
    refused: dict[WorkflowInstanceId, str] = {}
    for code, version, group, ids in limited:
        if (head := heads.get(code)) is None:
            continue  # deleted meanwhile; the master refuses it
        try:
            await check_limits_of_start(connection, head, version, group)
        except Refused as reason:
            refused |= dict.fromkeys(ids, str(reason))
    return refused


def _check(project: str, what: str, allowed: Collection[str], named: Iterable[str | None]) -> None:
    for each in named:
        if each is not None and not may_use(allowed, each):
            raise Refused(
                f'project "{project}" may not use the {what} "{each}", only {", ".join(sorted(allowed))}; name one of '
                f"those, or ask an admin"
            )
