"""Who may do what in a project, and which tenants and worker groups it may use."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from sqlalchemy.ext.asyncio import AsyncConnection

from dao.accounts import accounts, audit, members
from dao.accounts.members import Member, ProjectLimits
from model.errors import NotFound
from model.rights import Right, Role
from service.callers import Caller


async def listed(connection: AsyncConnection, caller: Caller, project: str) -> Sequence[Member]:
    """The members of a project, by name. Raises `Forbidden`."""
    caller.need(Right.VIEW, project)
    return await members.of_project(connection, project)


async def put(connection: AsyncConnection, caller: Caller, project: str, name: str, role: Role) -> None:
    """Give an account this role in a project, in place of another. Raises `Forbidden`, `NotFound`: no such account."""
    caller.need(Right.OWN, project)
    account = await accounts.by_name(connection, name)
    before = (await members.held(connection, project)).get(account.id)
    await members.put(connection, account.id, project, role)
    after = {"role": role}
    shown = {"role": before} if before else None
    entry = caller.entry("put_member", "member", account.id, account.name, project=project, before=shown, after=after)
    await audit.insert(connection, [entry])


async def remove(connection: AsyncConnection, caller: Caller, project: str, name: str) -> None:
    """Take the role of an account in a project away. Raises `Forbidden`, `NotFound`: no such account or member."""
    caller.need(Right.OWN, project)
    account = await accounts.by_name(connection, name)
    before = (await members.held(connection, project)).get(account.id)
    if before is None or not await members.remove(connection, account.id, project):
        raise NotFound(f'"{account.name}" is no member of project "{project}"; list its members')
    entry = caller.entry("remove_member", "member", account.id, account.name, project=project, before={"role": before})
    await audit.insert(connection, [entry])


async def limits(connection: AsyncConnection, caller: Caller, project: str) -> ProjectLimits:
    """What the project may use. Raises `Forbidden`."""
    caller.need(Right.VIEW, project)
    return await members.limits(connection, project)


async def set_limits(
    connection: AsyncConnection,
    caller: Caller,
    project: str,
    tenants: Collection[str],
    worker_groups: Collection[str],
) -> None:
    """Say what the project may use, empty = all. Only an admin may: an owner could widen it. Raises `Forbidden`."""
    caller.need(Right.ADMINISTER)
    before = await members.set_limits(connection, project, tenants, worker_groups)
    after = ProjectLimits(frozenset(tenants), frozenset(worker_groups))
    entry = caller.entry(
        "limit_project", "project", None, project, project=project, before=_shown(before), after=_shown(after)
    )
    await audit.insert(connection, [entry])


def _shown(limits: ProjectLimits) -> dict[str, object]:
    return {"tenants": sorted(limits.tenants), "worker_groups": sorted(limits.worker_groups)}
