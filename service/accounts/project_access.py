"""The operations on who may do what in a project, and on which tenants and worker groups it may use."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from pydantic import Field

from dao.accounts import accounts, members
from dao.accounts.members import ProjectLimits
from model.errors import NotFound
from model.fields import GroupName, Name, TenantName
from model.rights import Right, Role
from service.accounts.people import AccountName
from service.call import Call, Subject
from service.fields import Answer, Asked, Id, Moment
from service.operation import operation


class MemberAnswer(Answer):
    """The role of an account in a project."""

    account: Id
    name: str
    role: Role
    created_at: Moment | None = None
    disabled: bool = False


class Members(Answer):
    """The members of a project, by name."""

    items: Sequence[MemberAnswer]


class MemberRole(Asked):
    """The role to give."""

    role: Role


class Limits(Asked):
    """The only tenants and worker groups that the tasks of a project may name; empty = all."""

    tenants: Annotated[Sequence[TenantName], Field(max_length=1000)] = ()
    worker_groups: Annotated[Sequence[GroupName], Field(max_length=1000)] = ()

    @classmethod
    def of(cls, limits: ProjectLimits) -> Limits:
        """As they are stored, sorted."""
        return cls.model_construct(tenants=sorted(limits.tenants), worker_groups=sorted(limits.worker_groups))


@operation("GET", "/projects/{project}/members", Right.VIEW, "members")
async def list_members(call: Call, project: Name) -> Members:
    """List the members of a project, by name."""
    call.permit(project)
    async with call.reading() as connection:
        found = await members.of_project(connection, project)
    return Members(items=[MemberAnswer.model_validate(each) for each in found])


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
    answer: MemberAnswer = change.answered()
    return answer


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
    """Show which tenants and worker groups a project may use; none = all."""
    call.permit(project)
    async with call.reading() as connection:
        return Limits.of(await members.limits(connection, project))


@operation("PUT", "/projects/{project}/limits", Right.ADMINISTER, "members")
async def set_project_limits(call: Call, project: Name, body: Limits) -> Limits:
    """Say which tenants and worker groups a project may use. Only an admin may: an owner could widen it."""
    async with call.changing(Subject("project", None, project, project)) as change:
        before = await members.set_limits(change.connection, project, body.tenants, body.worker_groups)
        after = Limits.of(ProjectLimits(frozenset(body.tenants), frozenset(body.worker_groups)))
        change.before, change.after = Limits.of(before).model_dump(), after.model_dump()
        change.answer = after
    answer: Limits = change.answered()
    return answer
