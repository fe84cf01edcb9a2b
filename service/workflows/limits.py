"""Which tenants and worker groups a project may use: an admin limits them, for everybody who works in it."""

from __future__ import annotations

from collections.abc import Iterable

from sqlalchemy.ext.asyncio import AsyncConnection

from dao.accounts import members
from dao.accounts.members import ProjectLimits
from dao.definitions import definitions
from dao.definitions.definitions import Definition
from model.errors import Refused
from model.workflow import WorkflowSpec


async def check_limits(
    connection: AsyncConnection, project: str, spec: WorkflowSpec, groups: Iterable[str | None] = ()
) -> None:
    """Refuse a content that names a tenant or worker group that its project may not use.

    Args:
        groups: further worker groups, such as those of its schedules.
    Raises:
        Refused: it names one.
    """
    _check(await members.limits(connection, project), project, spec, groups)


async def check_limits_of_start(
    connection: AsyncConnection, head: Definition, version: int | None, group: str | None
) -> None:
    """Refuse to start what was saved before its project was limited, and a worker group that a start names.

    A version that is missing or cannot be read is left to the master. Raises `Refused`.
    """
    limits = await members.limits(connection, head.project)
    if limits == ProjectLimits():
        return
    spec = await definitions.spec_of(connection, head.code, version or head.version)
    if isinstance(spec, WorkflowSpec):
        _check(limits, head.project, spec, [group])


def _check(limits: ProjectLimits, project: str, spec: WorkflowSpec, groups: Iterable[str | None]) -> None:
    tenants = {spec.tenant, *(task.tenant for task in spec.tasks)}
    named = {spec.worker_group, *(task.worker_group for task in spec.tasks), *groups}
    for what, found, allows, allowed in (
        ("tenant", tenants, limits.allow_tenant, limits.tenants),
        ("worker group", named, limits.allow_worker_group, limits.worker_groups),
    ):
        wrong = sorted(each for each in found if each is not None and not allows(each))
        if wrong:
            raise Refused(
                f'project "{project}" may not use the {what} "{wrong[0]}", only {", ".join(sorted(allowed))}; '
                "name one of these, or ask an admin"
            )
