"""The operations on who may do what in a project, and on what it may use."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from pydantic import Field

from dao.accounts import accounts, members
from model.accounts.project_limits import LIMIT_COLUMNS, ProjectLimits
from model.accounts.rights import Right, Role
from model.errors import NotFound
from model.fields import GroupName, Name, TenantName
from service.accounts.people import AccountName
from service.call import Call, Subject
from service.fields import Answer, Asked, Id, Moment
from service.operation import operation
from service.paging import ItemsOf


class MemberAnswer(Answer):
    """The role of an account in a project."""

    account: Id
    name: str
    role: Role
    created_at: Moment | None = None
    disabled: bool = False


class MemberRole(Asked):
    """The role to give."""

    role: Role


class Limits(Asked):
    """The only ones of each kind that a project may use; empty or left out = all.

    With `tenants` each task must name one, or its workflow: else it would run as the worker's own user.
    """

    tenants: Annotated[Sequence[TenantName], Field(max_length=1000)] = ()
    worker_groups: Annotated[Sequence[GroupName], Field(max_length=1000)] = ()
    environments: Annotated[Sequence[Name] | None, Field(max_length=1000)] = None
    data_sources: Annotated[Sequence[Name] | None, Field(max_length=1000)] = None
    alert_groups: Annotated[Sequence[Name] | None, Field(max_length=1000)] = None

    @classmethod
    def of(cls, limits: ProjectLimits) -> Limits:
        named = {name: sorted(getattr(limits, name)) for name in LIMIT_COLUMNS}
        always = ("tenants", "worker_groups")
        return cls.model_validate({name: each for name, each in named.items() if each or name in always})

    @property
    def limits(self) -> ProjectLimits:
        return ProjectLimits(*(frozenset(getattr(self, name) or ()) for name in LIMIT_COLUMNS))


@operation("GET", "/projects/{project}/members", Right.VIEW, "members")
async def list_members(call: Call, project: Name) -> ItemsOf[MemberAnswer]:
    """List the members of a project, by name."""
    call.permit(project)
    found = await call.read(members.of_project, project)
    return ItemsOf[MemberAnswer](items=[MemberAnswer.model_validate(each) for each in found])


@operation("PUT", "/projects/{project}/members/{name}", Right.OWN, "members")
async def put_member(call: Call, project: Name, name: AccountName, body: MemberRole) -> MemberAnswer:
    """Give an account this role in a project, in place of another."""
    async with call.changing(Subject("member", None, project, name)) as change:
        account = await accounts.by_name(change.connection, name)
        before = (await members.held(change.connection, project)).get(account.id)
        await members.put(change.connection, account.id, project, body.role)
        change.id, change.name, change.before = account.id, account.name, {"role": before} if before else None
        change.after = {"role": body.role}
        change.answer = MemberAnswer(account=account.id, name=account.name, role=body.role)
    return change.answered(MemberAnswer)


@operation("DELETE", "/projects/{project}/members/{name}", Right.OWN, "members", status=204)
async def remove_member(call: Call, project: Name, name: AccountName) -> None:
    """Take the role of an account in a project away."""
    async with call.changing(Subject("member", None, project, name)) as change:
        account = await accounts.by_name(change.connection, name)
        before = (await members.held(change.connection, project)).get(account.id)
        if before is None or not await members.remove(change.connection, account.id, project):
            raise NotFound(f'"{account.name}" is no member of project "{project}"; list its members')
        change.id, change.name, change.before = account.id, account.name, {"role": before}


@operation("GET", "/projects/{project}/limits", Right.VIEW, "members")
async def get_project_limits(call: Call, project: Name) -> Limits:
    """Show which tenants, worker groups, environments, data sources and alert groups a project may use; none = all."""
    call.permit(project)
    return Limits.of(await call.read(members.limits, project))


@operation("PUT", "/projects/{project}/limits", Right.ADMINISTER, "members")
async def set_project_limits(call: Call, project: Name, body: Limits) -> Limits:
    """Say what a project may use, in place of what was said before. Only an admin may: an owner could widen it."""
    async with call.changing(Subject("project", None, project, project)) as change:
        before = await members.set_limits(change.connection, project, body.limits)
        after = Limits.of(body.limits)
        change.before, change.after = Limits.of(before).model_dump(), after.model_dump()
        change.answer = after
    return change.answered(Limits)
