"""`shoal project`: the parameters that all workflows of a project have."""

from __future__ import annotations

from shlex import quote
from typing import Annotated

import typer

from shoal.cli.invocation import Invocation
from shoal.cli.values import read_values
from shoal.cli.verbs import verb

Project = Annotated[str, typer.Option(help="Which project.")]


def add_to(app: typer.Typer) -> None:
    """Add the group `project`."""
    group = typer.Typer(no_args_is_help=True, help="What the workflows of a project share: its parameters.")
    verb(group, "shoal project params", "shoal project params --project sales")(params)
    verb(group, "shoal project set bucket=s3://lake day=$[yyyyMMdd-1]", name="set")(set_)
    verb(group, "shoal project unset bucket")(unset)
    app.add_typer(group, name="project")


async def params(call: Invocation, project: Project = "default") -> None:
    """List the parameters of a project. Those of a workflow, of its start and of its tasks override them."""
    from dao.definitions import projects

    async with call.reading() as reading:
        _print(call, project, await projects.parameters(reading.connection, project))


async def set_(
    call: Invocation,
    param: Annotated[list[str], typer.Argument(metavar="NAME=VALUE", help="Values.")],
    project: Project = "default",
) -> None:
    """Set parameters of a project, for all runs that begin from now on."""
    from dao.definitions import projects

    values = read_values(param, "the parameter")
    async with call.reading() as reading, reading.database.writing() as connection:
        found = await projects.change(connection, project, values)
    _print(call, project, found)


async def unset(
    call: Invocation,
    name: Annotated[list[str], typer.Argument(metavar="NAME", help="Parameters.")],
    project: Project = "default",
) -> None:
    """Remove parameters from a project, for all runs that begin from now on."""
    from dao.definitions import projects

    async with call.reading() as reading, reading.database.writing() as connection:
        found = await projects.change(connection, project, {}, name)
    _print(call, project, found)


def _print(call: Invocation, project: str, values: dict[str, str]) -> None:
    from model.secret_values import without_sealed
    from shoal.cli import output
    from shoal.cli.output import Column

    if call.as_json or not values:
        none = f'Project "{project}" has no parameters.'
        how = f"Give it one: shoal project set name=value --project {quote(project)}"
        output.print_result(call, {"project": project, "params": values}, none, how)
        return
    names = sorted(values)
    shown = [without_sealed(values[name]) for name in names]
    output.table(Column("NAME", names), Column("VALUE", shown, sentence=True))
    output.hint("A task sees them as ${NAME}, unless the workflow or the start says otherwise.")
