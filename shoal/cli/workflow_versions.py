"""`shoal workflow versions`, `export` and `diff`: what was saved, and how it changed."""

from __future__ import annotations

import sys
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from shoal.cli.invocation import Invocation
from shoal.cli.values import Project, WorkflowName
from shoal.cli.verbs import verb

STYLES = {"+": "green", "-": "red", "@": "cyan"}


def add_to(group: typer.Typer) -> None:
    """Add the verbs to the group `workflow`."""
    verb(group, "shoal workflow versions hello")(versions)
    verb(group, "shoal workflow export hello > hello.yaml")(export)
    verb(
        group,
        "shoal workflow diff hello",
        "shoal workflow diff hello --from 1 --to 3",
        "shoal workflow diff hello hello.yaml",
    )(diff)


async def versions(call: Invocation, name: WorkflowName, project: Project = "default") -> None:
    """List the versions of a workflow, the newest first, and how many runs use each."""
    from dao.definitions import definitions
    from dao.definitions.versions import versions_of
    from service.words import when
    from service.workflows.typed_names import typed
    from shoal.cli.output import Column, hint, print_json, say, state, table

    async with call.reading() as reading:
        head = await definitions.find(reading.connection, name, project)
        found = await versions_of(reading.connection, head.code)
    if call.as_json:
        print_json([{**asdict(each), "is_current": each.version == head.version} for each in found])
        return
    say(f"{head.name}  code {head.code}  project {head.project}")
    say(state(head.release_state))
    current = state(head.release_state)
    table(
        Column("VERSION", [each.version for each in found], right=True),
        Column("SAVED", [when(each.created_at, reading.now, utc=call.utc) for each in found], right=True),
        Column("BY", [each.created_by for each in found], keep=0),
        Column("TASKS", [each.tasks for each in found], keep=2, right=True),
        Column("RUNS", [each.runs for each in found], keep=3, right=True),
        Column("NOT ENDED", [each.unfinished for each in found], keep=1, right=True),
        Column("STATE", [current if each.version == head.version else "not the current one" for each in found]),
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
    from dao.definitions import definitions
    from service.workflows.saved_workflow import exported
    from shoal.cli.output import print_json

    async with call.reading() as reading:
        head = await definitions.find(reading.connection, name, project)
        text = await exported(reading.connection, head, version)
    if call.as_json:
        print_json({"name": head.name, "version": version or head.version, "yaml": text}, shows_sealed=True)
        return
    sys.stdout.write(text)


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
    """Show what changed from one version to another, or what applying a file would change."""
    from dao.definitions import definitions
    from model.errors import Refused
    from service.words import plain
    from service.workflows.saved_workflow import file_differs, versions_differ
    from shoal.cli.output import print_json, say
    from shoal.workflow_files import read_workflow_files

    if file is not None and newer is not None:
        raise Refused("--to names a version, and the file stands for it; leave out one of them")
    documents = read_workflow_files([file]) if file is not None else []
    async with call.reading() as reading:
        head = await definitions.find(reading.connection, name, project)
        if documents:
            lines = await file_differs(reading.connection, head, documents, call.settings.secrets, older)
        else:
            newer = newer or head.version
            if older is None and newer == 1:
                raise Refused(f'workflow "{head.name}" has no version before 1; name a file to compare it with')
            lines = await versions_differ(reading.connection, head, older or newer - 1, newer)
    if call.as_json:
        print_json({"workflow": head.name, "diff": lines})
        return
    for line in lines or ["No difference."]:
        say(plain(line), style="bold" if line[:3] in ("+++", "---") else STYLES.get(line[:1]))
