"""`shoal workflow online`, `offline`, `move` and `delete`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Annotated

import typer

from model.choices import ReleaseState
from model.errors import Refused
from service.workflows import moving, requests, saving
from service.workflows.typed_names import typed
from shoal.cli.invocation import Invocation
from shoal.cli.named import workflow_named
from shoal.cli.output import hint, json_fields, print_result, printed_json, say
from shoal.cli.values import Project, WorkflowName
from shoal.cli.verbs import verb


def add_to(group: typer.Typer) -> None:
    verb(group, "shoal workflow online hello")(online)
    verb(group, "shoal workflow offline hello")(offline)
    verb(group, "shoal workflow move hello sales --dry-run", "shoal workflow move hello sales")(move)
    verb(group, "shoal workflow delete hello", "shoal workflow delete hello --yes")(delete)


async def online(call: Invocation, name: WorkflowName, project: Project = "default") -> None:
    """Allow starts of a workflow."""
    await _set_state(call, name, project, ReleaseState.ONLINE)


async def offline(call: Invocation, name: WorkflowName, project: Project = "default") -> None:
    """Refuse starts of a workflow from now on. Its runs continue."""
    await _set_state(call, name, project, ReleaseState.OFFLINE)


async def move(
    call: Invocation,
    name: WorkflowName,
    to: Annotated[str, typer.Argument(help="The project to which it moves.")],
    project: Project = "default",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would change.")] = False,
) -> None:
    """Move a workflow to another project, with its versions, schedules and runs. What names it is changed with it."""
    async with call.client() as client:
        head = await workflow_named(client, name, project)
        asked = requests.MoveWorkflow.read(project=to, dry_run=dry_run)
        moved = await client.ask(moving.move_workflow, head.code, asked)
    if printed_json(call, moved):
        return
    done, gets = ("would move", "would get") if dry_run else ("moved", "got")
    say(f'Workflow "{head.name}" {done} from project "{moved.project_before}" to "{to}".')
    for each in moved.changed:
        say(f'  Workflow "{each.name}" of project "{each.project}" {gets} a version that names it there.')
    for sentence in moved.notes:
        say(f"  Note: {sentence}.")
    for sentence in moved.refused:
        say(f"  Stands against it: {sentence}.")
    if not dry_run:
        hint(f"In its file, write project: {to}, or the next apply makes it anew in {moved.project_before}")


async def delete(
    call: Invocation,
    name: WorkflowName,
    project: Project = "default",
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
) -> None:
    """Delete a workflow with all its versions, if nothing uses it. Its runs stay listed, and cannot run again."""
    async with call.client() as client:
        head = await workflow_named(client, name, project)
        question = f'Delete workflow "{head.name}" (code {head.code}) with all its versions?'
        if not yes:
            if not sys.stdin.isatty():
                raise Refused(f"{question} Nobody is there to answer; say it with --yes")
            typer.confirm(question, abort=True)
        await client.ask(saving.delete_workflow, head.code)
    fields = json_fields({"code": head.code, "name": head.name, "deleted": True})
    print_result(call, fields, f'Workflow "{head.name}" is deleted.', "What is left: shoal workflow list")


async def _set_state(call: Invocation, name: str, project: str, state: ReleaseState) -> None:
    async with call.client() as client:
        head = await workflow_named(client, name, project)
        done = await client.ask(saving.set_release_state, head.code, requests.SetReleaseState(release_state=state))
    if printed_json(call, done):
        return
    before = f", it was {head.release_state}" if done.is_changed else " already"
    say(f'Workflow "{head.name}" is {state}{before}.')
    if state is ReleaseState.OFFLINE:
        print_firing(done.online_schedules)
    named = typed(head.name, head.project, head.code)
    hint(f"Start it: shoal run {named}" if state is ReleaseState.ONLINE else f"Undo: shoal workflow online {named}")


def print_firing(schedules: Sequence[int]) -> None:
    """Say that an OFFLINE workflow has schedules that still fire."""
    if schedules:
        ids = ", ".join(map(str, schedules))
        fires = f"Its schedule {ids} still fires" if len(schedules) == 1 else f"Its schedules {ids} still fire"
        say(f"{fires}: each time becomes an error command. Turn it off: shoal schedule off {schedules[0]}")
