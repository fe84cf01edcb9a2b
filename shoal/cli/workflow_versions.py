"""`shoal workflow versions`, `export` and `diff`: what was saved, and how it changed."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from model.errors import Refused
from service import paging as pages
from service.words import plain
from service.workflows import apply_operations as applying
from service.workflows import history, requests
from service.workflows.typed_names import typed
from shoal import workflow_files
from shoal.cli import workflow_folders
from shoal.cli.invocation import Invocation
from shoal.cli.listing import Field, Listing
from shoal.cli.named import workflow_named
from shoal.cli.output import hint, printed_json, say, state
from shoal.cli.values import Project, WorkflowName
from shoal.cli.verbs import verb
from shoal.clients.pages import all_items


def add_to(group: typer.Typer) -> None:
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
        head = await workflow_named(client, name, project)
        found = await all_items(
            lambda page: client.ask(history.list_workflow_versions, head.code, page), pages.PageQuery()
        )
        current = state(head.release_state)
        listed: Listing[history.VersionAnswer] = Listing(
            (
                Field("VERSION", lambda each: each.version, right=True),
                Field("SAVED", lambda each: each.created_at, right=True),
                Field("BY", lambda each: each.created_by, keep=0),
                Field("TASKS", lambda each: each.tasks, keep=2, right=True),
                Field("RUNS", lambda each: each.runs, keep=3, right=True),
                Field("NOT ENDED", lambda each: each.unfinished, keep=1, right=True),
                Field("STATE", lambda each: current if each.is_current else "not the current one"),
            ),
            none="",
        )
        if not call.as_json:
            say(f"{head.name}  code {head.code}  project {head.project}")
            say(current)
        await listed.show(call, client, found)
    if len(found) > 1 and not call.as_json:
        hint(f"What changed last: shoal workflow diff {typed(head.name, head.project, head.code)}")


async def export(
    call: Invocation,
    name: WorkflowName,
    project: Project = "default",
    version: Annotated[int | None, typer.Option(min=1, help="An older version than the current one.")] = None,
) -> None:
    """Print a workflow and its schedules as a YAML file, which `workflow apply` reads as the same definition."""
    async with call.client() as client:
        head = await workflow_named(client, name, project)
        answer = await client.ask(history.export_workflow, head.code, requests.ExportQuery.read(version=version))
    if printed_json(call, answer):
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
        head = await workflow_named(client, name, project)
        answer = await (
            client.ask(applying.diff_workflow_files, head.code, requests.CompareFiles.read(files=given, version=older))
            if given
            else client.ask(
                history.diff_workflow_versions, head.code, requests.DiffQuery.read(older=older, newer=newer)
            )
        )
    if printed_json(call, answer):
        return
    for line in answer.diff or ["No difference."]:
        say(plain(line), style="bold" if line[:3] in ("+++", "---") else workflow_folders.STYLES.get(line[:1]))
