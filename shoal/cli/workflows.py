"""The verbs about workflows: `workflow apply`, `check`, `list`, `show`, and `run`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from model.choices import FailureStrategy, Priority, TaskDependType
from model.states import WorkflowState
from shoal.cli.invocation import Invocation
from shoal.cli.values import read_values
from shoal.cli.verbs import verb

if TYPE_CHECKING:
    from dao.definitions.definitions import Definition
    from model.ids import CommandId
    from shoal.workflows.workflow_file import WorkflowDocument

LIST_MAX = 10_000

Project = Annotated[str, typer.Option(help="The project that the workflow belongs to.")]


def add_to(app: typer.Typer) -> None:
    """Add the group `workflow`, and `run`."""
    group = typer.Typer(no_args_is_help=True, help="Definitions: saved from YAML files, listed, shown.")
    verb(group, "shoal workflow apply examples/hello.yaml")(apply)
    verb(group, "shoal workflow check examples/hello.yaml")(check)
    verb(group, "shoal workflow list", name="list")(list_all)
    verb(group, "shoal workflow show hello")(show)
    app.add_typer(group, name="workflow")
    verb(
        app,
        "shoal run hello",
        "shoal run hello --param name=Ada --wait",
        "shoal run hello --task count_cores --depend task_only",
    )(run)


async def apply(call: Invocation, files: Annotated[list[Path], typer.Argument(help="YAML files.")]) -> None:
    """Save workflows from YAML files, all or none. Unchanged workflows get no new version."""
    from shoal.cli.output import hint, json_fields, print_json, say
    from shoal.words import counted
    from shoal.workflows.apply import save_all
    from shoal.workflows.workflow_file import read_workflow_files

    documents = read_workflow_files(files)
    async with call.reading() as reading, reading.database.writing() as connection:
        saved = await save_all(connection, documents, call.settings.secrets)
    if call.as_json:
        print_json([json_fields({**_fields(head), "is_new_version": is_new}) for head, is_new in saved])
        return
    for (head, is_new), document in zip(saved, documents, strict=True):
        what = f"saved as version {head.version}" if is_new else f"unchanged, version {head.version}"
        say(f'Workflow "{head.name}" ({counted(len(document.spec.tasks), "task")}, code {head.code}): {what}.')
        _warn(document)
    hint(f"Start it: shoal run {saved[0][0].name} --wait")


async def check(call: Invocation, files: Annotated[list[Path], typer.Argument(help="YAML files.")]) -> None:
    """Say what is wrong with YAML files, without a server: so not whether other workflows that they name exist."""
    from shoal.cli.output import hint, print_json, say
    from shoal.words import counted
    from shoal.workflows.workflow_file import read_workflow_files

    documents = read_workflow_files(files)
    if call.as_json:
        print_json([{"project": each.project, "name": each.name, "file": each.file} for each in documents])
        return
    for each in documents:
        say(f'Workflow "{each.name}" ({counted(len(each.spec.tasks), "task")}) is well written.')
        _warn(each)
    hint(f"Save it: shoal workflow apply {documents[0].file}")


async def list_all(call: Invocation) -> None:
    """List the workflows by project and name."""
    from dao.definitions import definitions
    from shoal.cli.output import Column, hint, json_fields, print_json, say, state, table

    async with call.reading() as reading:
        heads = await definitions.all_heads(reading.connection, LIST_MAX)
    if call.as_json:
        print_json([json_fields(_fields(head)) for head in heads])
        return
    if not heads:
        say("There is no workflow yet.")
        hint("Save one: shoal workflow apply examples/hello.yaml")
        return
    columns = [
        Column("CODE", right=True),
        Column("PROJECT", keep=1),
        Column("WORKFLOW"),
        Column("VERSION", right=True, keep=2),
        Column("STATE"),
    ]
    table(columns, [(h.code, h.project, h.name, h.version, state(h.release_state)) for h in heads])
    hint(f"Start one: shoal run {heads[0].name} --wait")


async def show(
    call: Invocation,
    name: Annotated[str, typer.Argument(help="Its name, or its code.")],
    project: Project = "default",
    version: Annotated[int | None, typer.Option(help="An older version than the current one.")] = None,
) -> None:
    """Show what a workflow does: its tasks and their order."""
    from dao.definitions import definitions
    from model.errors import NotFound, Refused
    from model.secret_values import without_sealed
    from shoal.cli.output import Column, hint, json_fields, print_json, say, state, table

    async with call.reading() as reading:
        head = await definitions.find(reading.connection, name, project)
        wanted = (head.code, version or head.version)
        spec = (await definitions.specs(reading.connection, [wanted])).get(wanted)
    if spec is None:
        raise NotFound(f'workflow "{head.name}" has no version {wanted[1]}')
    if isinstance(spec, Refused):
        raise Refused(f'version {wanted[1]} of workflow "{head.name}" cannot be read: {spec}')
    if call.as_json:
        print_json({**json_fields({**_fields(head), "version": wanted[1]}), **spec.model_dump(mode="json")})
        return
    say(f"{head.name}  v{wanted[1]}  code {head.code}  project {head.project}")
    say(state(head.release_state))
    if spec.description:
        say(spec.description)
    for key in spec.secrets:
        if key not in spec.params:
            say(f"  {key}: SECRET, given by the start")
    for key, value in spec.params.items():
        say(f"  {key} = {without_sealed(value)}")
    columns = [Column("TASK"), Column("TYPE"), Column("GROUP", keep=1), Column("PRIORITY", keep=0), Column("AFTER")]
    rows = [
        (task.name, task.type, task.worker_group or spec.worker_group, task.priority, ", ".join(task.after) or "-")
        for task in spec.tasks
    ]
    table(columns, rows, indent=2)
    hint(f"Start it: shoal run {head.name} --wait")


async def run(
    call: Invocation,
    name: Annotated[str, typer.Argument(help="The workflow's name, or its code.")],
    param: Annotated[
        list[str] | None, typer.Option("--param", "-p", help="A value, as name=value; may be repeated.")
    ] = None,
    wait: Annotated[bool, typer.Option("--wait", "-w", help="Wait for its end; exit code 1 if it fails.")] = False,
    timeout: Annotated[
        str | None, typer.Option(help="With --wait: wait no longer than this, such as 90s, 5m or 1h30m.")
    ] = None,
    priority: Annotated[
        Priority | None, typer.Option(case_sensitive=False, help="Instead of the definition's.")
    ] = None,
    failure_strategy: Annotated[
        FailureStrategy | None, typer.Option(case_sensitive=False, help="Instead of the definition's.")
    ] = None,
    worker_group: Annotated[str | None, typer.Option(help="Instead of the definition's.")] = None,
    version: Annotated[int | None, typer.Option(min=1, help="Another version than the current one.")] = None,
    task: Annotated[
        list[str] | None, typer.Option("--task", "-t", help="Begin with this task only; may be repeated.")
    ] = None,
    depend: Annotated[
        TaskDependType | None,
        typer.Option(case_sensitive=False, help="With --task: alone, with all before it, or with all after it."),
    ] = None,
    environment: Annotated[
        str | None, typer.Option(help="Name of an environment, for the tasks that name none.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Everything happens but the tasks' own work.")] = False,
    project: Project = "default",
) -> None:
    """Start a workflow: one row in `command`, which the master of its slot takes."""
    from dao.commands.commands import NewCommand
    from model.command_moves import CommandType
    from model.errors import Refused
    from shoal.cli import following
    from shoal.runs.references import find_startable
    from shoal.runs.start import ask_start

    values = read_values(param or [])
    if depend and not task:
        raise Refused("--depend says what runs beside the tasks of --task; name those too")
    within_s = following.wait_limit_s(timeout, wait=wait)
    type_ = CommandType.START_CURRENT_TASK_PROCESS if task else CommandType.START_PROCESS
    async with call.reading() as reading:
        head = await find_startable(reading.connection, name, project)
        new = NewCommand(type_, head.code, None, version, "{}", priority, failure_strategy, worker_group)
        new = replace(new, environment=environment, dry_run=dry_run, task_depend_type=depend)
        secrets, tasks = call.settings.secrets, task or []
        command = await ask_start(reading.database, reading.connection, head, values, new, secrets, tasks=tasks)
        if not wait:
            _print_asked(call, head, command)
            return
        end = await following.follow(reading.database, command, within_s=within_s)
    following.print_end(call, command, end, fine=[WorkflowState.SUCCESS])


def _print_asked(call: Invocation, head: Definition, command: CommandId) -> None:
    from shlex import quote

    from shoal.cli.output import hint, json_fields, print_json, say

    if call.as_json:
        print_json(json_fields({"command_id": command, "workflow": head.name}))
        return
    say(f'Workflow "{head.name}" is asked for by command {command}.')
    hint(f"See it: shoal show {quote(head.name)}   Why does it not run: shoal why command {command}")


def _warn(document: WorkflowDocument) -> None:
    from shoal.workflows.workflow_warnings import doubtful_references

    for sentence in doubtful_references(document.spec):
        typer.echo(f"shoal: warning: {document.file}: {sentence}", err=True)


def _fields(head: Definition) -> dict[str, object]:
    return {
        "code": head.code,
        "project": head.project,
        "name": head.name,
        "version": head.version,
        "release_state": head.release_state,
    }
