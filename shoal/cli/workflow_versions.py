"""`shoal workflow versions`, `export` and `diff`: what was saved, and how it changed."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from model.errors import Refused
from service import paging as pages
from service.cluster import clock
from service.words import plain, when
from service.workflows import apply_operations as applying
from service.workflows import history, listing, requests
from service.workflows.typed_names import typed
from shoal import workflow_files
from shoal.cli import workflow_folders
from shoal.cli.invocation import Invocation
from shoal.cli.output import Column, answer_fields, hint, print_json, say, state, table
from shoal.cli.values import Project, WorkflowName
from shoal.cli.verbs import verb
from shoal.clients.pages import all_items

LIST_MAX = 10_000


def add_to(group: typer.Typer) -> None:
    """Add the verbs to the group `workflow`."""
    verb(group, "shoal workflow versions hello")(versions)
    verb(group, "shoal workflow export hello > hello.yaml")(export)
    verb(
        group,
        "shoal workflow diff hello",
        "shoal workflow diff hello --from 1 --to 3",
        "shoal workflow diff hello hello.yaml",
        "shoal workflow diff flows/",
    )(diff)


async def versions(call: Invocation, name: WorkflowName, project: Project = "default") -> None:
    """List the versions of a workflow, the newest first, and how many runs use each."""
    async with call.client() as client:
        head = await client.ask(listing.find_workflow, requests.WorkflowReference.read(name=name, project=project))
        found = await all_items(
            lambda limit, cursor: client.ask(
                history.list_workflow_versions, head.code, pages.PageQuery(limit=limit, cursor=cursor)
            ),
            LIST_MAX,
        )
        now = (await client.ask(clock.read_clock)).now
    if call.as_json:
        print_json([answer_fields(each) for each in found])
        return
    say(f"{head.name}  code {head.code}  project {head.project}")
    say(state(head.release_state))
    current = state(head.release_state)
    table(
        Column("VERSION", [each.version for each in found], right=True),
        Column("SAVED", [when(each.created_at, now, utc=call.utc) for each in found], right=True),
        Column("BY", [each.created_by for each in found], keep=0),
        Column("TASKS", [each.tasks for each in found], keep=2, right=True),
        Column("RUNS", [each.runs for each in found], keep=3, right=True),
        Column("NOT ENDED", [each.unfinished for each in found], keep=1, right=True),
        Column("STATE", [current if each.is_current else "not the current one" for each in found]),
    )
    if len(found) > 1:
        hint(f"What changed last: shoal workflow diff {typed(head.name, head.project, head.code)}")


async def export(
    call: Invocation,
    name: WorkflowName,
    project: Project = "default",
    version: Annotated[int | None, typer.Option(min=1, help="An older version than the current one.")] = None,
) -> None:
    """Print a workflow and its schedules as a YAML file, which `workflow apply` reads as the same definition."""
    async with call.client() as client:
        head = await client.ask(listing.find_workflow, requests.WorkflowReference.read(name=name, project=project))
        answer = await client.ask(history.export_workflow, head.code, requests.ExportQuery.read(version=version))
    if call.as_json:
        print_json(answer_fields(answer))
        return
    sys.stdout.write(answer.yaml)


async def diff(
    call: Invocation,
    name: WorkflowName,
    file: Annotated[Path | None, typer.Argument(help="A YAML file, instead of a second version.")] = None,
    older: Annotated[
        int | None, typer.Option("--from", min=1, help="The first version; else the one before the second.")
    ] = None,
    newer: Annotated[int | None, typer.Option("--to", min=1, help="The second version; else the current one.")] = None,
    project: Project = "default",
) -> None:
    """Show what changed between two versions, or what applying a file or syncing a folder would change.

    For a folder, such as `flows/`, the exit code is 1 if that is anything.
    """
    if file is None and workflow_folders.is_folder(name):
        await workflow_folders.diff(call, Path(name))
        return
    if file is not None and newer is not None:
        raise Refused("--to names a version, and the file stands for it; leave out one of them")
    given = (
        [{"name": named, "content": content} for named, content in workflow_files.read_texts([file])] if file else []
    )
    async with call.client() as client:
        head = await client.ask(listing.find_workflow, requests.WorkflowReference.read(name=name, project=project))
        answer = await (
            client.ask(applying.diff_workflow_files, head.code, requests.CompareFiles.read(files=given, version=older))
            if given
            else client.ask(
                history.diff_workflow_versions, head.code, requests.DiffQuery.read(older=older, newer=newer)
            )
        )
    if call.as_json:
        print_json(answer_fields(answer))
        return
    for line in answer.diff or ["No difference."]:
        say(plain(line), style="bold" if line[:3] in ("+++", "---") else workflow_folders.STYLES.get(line[:1]))
