"""`shoal project member`: who has which role in a project."""

from __future__ import annotations

from shlex import quote
from typing import Annotated

import typer

from model.accounts.rights import Role
from service.accounts import project_access
from shoal.cli.invocation import Invocation
from shoal.cli.listing import Field, Listing
from shoal.cli.output import answer_fields, print_result
from shoal.cli.verbs import new_group, verb

Project = Annotated[str, typer.Option(help="Which project.")]
AccountName = Annotated[str, typer.Argument(metavar="NAME", help="The account.")]


def add_to(above: typer.Typer) -> None:
    group = new_group(above, "member", "Members of a project, each with a role.")
    verb(group, "shoal project member list --project etl", name="list")(list_all)
    verb(group, "shoal project member set anna OPERATOR --project etl", name="set")(put)
    verb(group, "shoal project member delete anna --project etl")(delete)


async def list_all(call: Invocation, project: Project = "default") -> None:
    """List the members of a project. Admins are none: they may do everything in every project."""
    how = f"shoal project member set NAME VIEWER|OPERATOR|EDITOR|OWNER --project {quote(project)}"
    members: Listing[project_access.MemberAnswer] = Listing(
        (
            Field("NAME", lambda each: each.name),
            Field("ROLE", lambda each: each.role),
            Field("", lambda each: "disabled" if each.disabled else "", keep=0),
        ),
        none=f'Project "{project}" has no members.',
        first=f"Give it one: {how}",
        then=f"Give another role: {how}",
    )
    async with call.client() as client:
        await members.show(call, client, (await client.ask(project_access.list_members, project)).items)


async def put(
    call: Invocation,
    name: AccountName,
    role: Annotated[Role, typer.Argument(case_sensitive=False, help="What it may do; docs/guides/users.md.")],
    project: Project = "default",
) -> None:
    """Give an account a role in a project, in place of another."""
    member = await call.ask(project_access.put_member, project, name, project_access.MemberRole(role=role))
    print_result(call, answer_fields(member), f'{member.name} is {member.role} of project "{project}".')


async def delete(call: Invocation, name: AccountName, project: Project = "default") -> None:
    """Take the role of an account in a project away."""
    await call.ask(project_access.remove_member, project, name)
    fields = {"name": name, "project": project}
    print_result(call, fields, f'{name} is no longer a member of project "{project}".')
