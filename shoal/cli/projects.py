"""`shoal project`: the parameters and defaults that all workflows of a project have, and how long runs are kept."""

from __future__ import annotations

import json
from shlex import quote
from typing import Annotated

import typer

from model.definitions import project_defaults
from model.errors import Refused
from service.projects import projects
from service.words import counted
from service.workflows import workflow_file, yaml_lines
from shoal.cli import files, members, output, secrets
from shoal.cli.invocation import Invocation
from shoal.cli.output import Column
from shoal.cli.secrets import read_secret
from shoal.cli.values import read_values
from shoal.cli.verbs import new_group, verb

Project = Annotated[str, typer.Option(help="Which project.")]


def add_to(app: typer.Typer) -> None:
    group = new_group(
        app,
        "project",
        "What the workflows of a project share: parameters, defaults, files, members, how long runs are kept.",
    )
    verb(group, "shoal project params", "shoal project params --project sales")(params)
    verb(group, "shoal project set bucket=s3://lake day=$[yyyyMMdd-1]", name="set")(set_)
    verb(group, "shoal project unset bucket")(unset)
    verb(
        group,
        "shoal project defaults --project sales",
        "shoal project defaults retry_times=3 timeout=30m",
        "shoal project defaults --unset timeout",
    )(defaults)
    verb(group, "shoal project keep 30 --project sales", "shoal project keep 0", "shoal project keep default")(keep)
    secrets.add_to_projects(group)
    members.add_to(group)
    files.add_to(group)


async def params(call: Invocation, project: Project = "default") -> None:
    """List the parameters of a project. Those of a workflow, of its start and of its tasks override them."""
    found = await call.ask(projects.get_project, project)
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
    found = await call.ask(
        projects.change_project, project, projects.ChangeProject.read(params=values, secrets=secrets)
    )
    _print(call, found)


async def unset(
    call: Invocation,
    name: Annotated[list[str], typer.Argument(metavar="NAME", help="Parameters.")],
    project: Project = "default",
) -> None:
    """Remove parameters from a project, for all runs that begin from now on."""
    found = await call.ask(projects.change_project, project, projects.ChangeProject.read(without=name))
    _print(call, found)


async def defaults(
    call: Invocation,
    field: Annotated[list[str] | None, typer.Argument(metavar="FIELD=VALUE", help="To set; a value is YAML.")] = None,
    project: Project = "default",
    unset: Annotated[list[str] | None, typer.Option(metavar="FIELD", help="To remove.")] = None,
) -> None:
    """List or change the defaults of a project: fields that the tasks of its files get as they are saved.

    A task's own fields override them, and so do the defaults of its workflow. Saved versions do not change.
    """
    given = {name: _value(name, written) for name, written in read_values(field or [], "the field").items()}
    async with call.client() as client:
        if given or unset:
            asked = projects.ChangeProject.read(defaults=given, without_defaults=unset)
            found = await client.ask(projects.change_project, project, asked)
        else:
            found = await client.ask(projects.get_project, project)
    shown = project_defaults.written_defaults(found.defaults)
    if call.as_json or not shown:
        none = f'Project "{found.name}" has no defaults.'
        how = f"Give it one: shoal project defaults retry_times=3 --project {quote(found.name)}"
        output.print_result(call, {"project": found.name, "defaults": shown}, none, how)
        return
    values = [_written(value) for value in shown.values()]
    output.table(Column("FIELD", list(shown)), Column("VALUE", values, sentence=True))
    if given or unset:
        output.hint("Workflows get them when they are saved again: shoal workflow apply FILE")


def _written(value: object) -> str:
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return value if isinstance(value, str) else json.dumps(value)


def _value(name: str, written: str) -> object:
    try:
        (document,) = yaml_lines.read_documents(written.encode())
    except (yaml_lines.BadYaml, ValueError):  # even without a YAML document, or with several
        raise Refused(f'the value of "{name}" is not YAML; write it as in a file, such as {name}=3') from None
    return workflow_file.plain(document.content)


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
    found = await call.ask(projects.change_project, project, asked)
    days_said = counted(found.kept_days or 0, "day")
    kept = {None: "as long as the masters' settings say", 0: "forever"}.get(found.kept_days, days_said)
    fields = {"project": found.name, "kept_days": found.kept_days}
    if call.as_json:
        output.print_json(fields)
        return
    output.say(f'Ended runs of project "{found.name}" are kept {kept}.')
    if found.kept_days != 0:
        output.say("Those that ended longer ago are deleted within ten minutes, for good.")
    output.hint("What was deleted, and when it is checked again: shoal master duties")


def _print(call: Invocation, found: projects.ProjectPageAnswer) -> None:
    if call.as_json or not found.params:
        none = f'Project "{found.name}" has no parameters.'
        how = f"Give it one: shoal project set name=value --project {quote(found.name)}"
        output.print_result(call, {"project": found.name, "params": found.params}, none, how)
        return
    names = sorted(found.params)
    output.table(Column("NAME", names), Column("VALUE", [found.params[each] for each in names], sentence=True))
    output.hint("A task sees them as ${NAME}, unless the workflow or the start says otherwise.")
