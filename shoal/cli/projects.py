"""`shoal project`: the parameters that all workflows of a project have, and how long its ended runs are kept."""

from __future__ import annotations

from shlex import quote
from typing import Annotated

import typer

from model.errors import Refused
from service.projects import projects
from service.words import counted
from shoal.cli import output
from shoal.cli.invocation import Invocation
from shoal.cli.output import Column
from shoal.cli.secrets import read_secret
from shoal.cli.values import read_values
from shoal.cli.verbs import verb

Project = Annotated[str, typer.Option(help="Which project.")]


def add_to(app: typer.Typer) -> None:
    """Add the group `project`."""
    group = typer.Typer(
        no_args_is_help=True,
        help="What the workflows of a project share: its parameters, and how long ended runs are kept.",
    )
    verb(group, "shoal project params", "shoal project params --project sales")(params)
    verb(group, "shoal project set bucket=s3://lake day=$[yyyyMMdd-1]", name="set")(set_)
    verb(group, "shoal project unset bucket")(unset)
    verb(group, "shoal project keep 30 --project sales", "shoal project keep 0", "shoal project keep default")(keep)
    app.add_typer(group, name="project")


async def params(call: Invocation, project: Project = "default") -> None:
    """List the parameters of a project. Those of a workflow, of its start and of its tasks override them."""
    async with call.client() as client:
        found = await client.ask(projects.get_project, project)
    _print(call, found)


async def set_(
    call: Invocation,
    param: Annotated[list[str] | None, typer.Argument(metavar="NAME=VALUE", help="Values.")] = None,
    project: Project = "default",
    secret: Annotated[
        str | None, typer.Option(metavar="NAME", help="A SECRET parameter; its value is read from standard input.")
    ] = None,
) -> None:
    """Set parameters of a project, for all runs that begin from now on."""
    if not param and secret is None:
        raise Refused("there is nothing to set; give NAME=VALUE, or --secret NAME and its value on standard input")
    values = read_values(param or [], "the parameter")
    secrets = {} if secret is None else {secret: read_secret("value")}
    async with call.client() as client:
        found = await client.ask(
            projects.change_project, project, projects.ChangeProject.read(params=values, secrets=secrets)
        )
    _print(call, found)


async def unset(
    call: Invocation,
    name: Annotated[list[str], typer.Argument(metavar="NAME", help="Parameters.")],
    project: Project = "default",
) -> None:
    """Remove parameters from a project, for all runs that begin from now on."""
    async with call.client() as client:
        found = await client.ask(projects.change_project, project, projects.ChangeProject.read(without=name))
    _print(call, found)


async def keep(
    call: Invocation,
    days: Annotated[
        str, typer.Argument(metavar="DAYS", help="Days to keep; 0 = forever, default = the masters' setting.")
    ],
    project: Project = "default",
) -> None:
    """Say for how many days ended runs of a project are kept; then the masters delete them."""
    if days != "default" and not (days.isascii() and days.isdecimal()):
        raise Refused(f'"{days[:40]}" is not a number of days; give one such as 30, 0 (forever) or default')
    asked = projects.ChangeProject.read(kept_days="default" if days == "default" else int(days))
    async with call.client() as client:
        found = await client.ask(projects.change_project, project, asked)
    days_said = counted(found.kept_days or 0, "day")
    kept = {None: "as long as the masters' settings say", 0: "forever"}.get(found.kept_days, days_said)
    fields = {"project": found.name, "kept_days": found.kept_days}
    if call.as_json:
        output.print_json(fields)
        return
    output.say(f'Ended runs of project "{found.name}" are kept {kept}.')
    if found.kept_days != 0:
        output.say("Those that ended longer ago are deleted within ten minutes, for good.")
    output.hint("What was deleted, and when it is checked again: shoal duties")


def _print(call: Invocation, found: projects.ProjectPageAnswer) -> None:
    if call.as_json or not found.params:
        none = f'Project "{found.name}" has no parameters.'
        how = f"Give it one: shoal project set name=value --project {quote(found.name)}"
        output.print_result(call, {"project": found.name, "params": found.params}, none, how)
        return
    names = sorted(found.params)
    output.table(Column("NAME", names), Column("VALUE", [found.params[each] for each in names], sentence=True))
    output.hint("A task sees them as ${NAME}, unless the workflow or the start says otherwise.")
