"""The tenants and worker groups that a project may use; checked when a workflow is saved, or a start names one."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from sqlalchemy.ext.asyncio import AsyncConnection

from dao.accounts import members
from model.errors import Refused
from model.rights import may_use


async def check_limits(
    connection: AsyncConnection, project: str, worker_groups: Iterable[str | None], tenants: Iterable[str | None] = ()
) -> None:
    """Return if the project may use all of these; None = not named. Raises `Refused`."""
    limits = await members.limits(connection, project)
    _check(project, "worker group", limits.worker_groups, worker_groups)
    _check(project, "tenant", limits.tenants, tenants)


def _check(project: str, what: str, allowed: Collection[str], named: Iterable[str | None]) -> None:
    for each in named:
        if each is not None and not may_use(allowed, each):
            raise Refused(
                f'project "{project}" may not use the {what} "{each}", only {", ".join(sorted(allowed))}; name one of '
                f"those, or ask an admin"
            )
