"""`shoal workflow apply/check/list/show`, and the other verbs of this group."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from shlex import quote
from typing import Annotated, Any

import typer

from model.choices import ReleaseState
from model.runs.webhooks import PATH
from service.words import counted
from service.workflows import apply_operations as applying
from service.workflows import apply_transaction, listing, relations, requests, workflow_warnings
from service.workflows import content as workflow_content
from service.workflows.typed_names import typed
from shoal import workflow_files
from shoal.cli import imports, workflow_folders, workflow_release, workflow_versions
from shoal.cli.completion import complete_workflow
from shoal.cli.invocation import Invocation
from shoal.cli.listing import Field, Listing
from shoal.cli.named import workflow_named
from shoal.cli.output import Column, answer_fields, hint, print_json, say, state, table
from shoal.cli.pool_changes import print_saved as print_pool
from shoal.cli.values import Project
from shoal.cli.verbs import new_group, verb
from shoal.cli.workflow_params import print_globals, print_params
from shoal.cli.workflow_release import print_firing
from shoal.clients.pages import all_items


def add_to(app: typer.Typer) -> None:
    group = new_group(
        app,
        "workflow",
        "Save workflow definitions from YAML files; list, show and compare them; import those of others.",
    )
    verb(group, "shoal workflow apply examples/hello.yaml")(apply)
    verb(group, "shoal workflow check examples/hello.yaml")(check)
    verb(group, "shoal workflow list", "shoal workflow list --tag finance", name="list")(list_all)
    verb(group, "shoal workflow show hello")(show)
    workflow_folders.add_to(group)
    workflow_versions.add_to(group)
    workflow_release.add_to(group)
    imports.add_to(group)


async def apply(call: Invocation, files: Annotated[list[Path], typer.Argument(help="YAML files.")]) -> None:
    """Save workflows and resource pools from YAML files, all or none. Unchanged ones get no new version."""
    given = [{"name": name, "content": content} for name, content in workflow_files.read_texts(files)]
    applied = await call.ask(applying.apply_workflows, requests.ApplyFiles.read(files=given))
    saved = applied.workflows
    if call.as_json:
        sentences: Any = {"schedules": {"__all__": {"sentence"}}}
        of_workflows = [each.model_dump(mode="json", exclude_none=True, exclude=sentences) for each in saved]
        print_json(of_workflows + [{"kind": "pool", **answer_fields(each)} for each in applied.pools])
        return
    for pool in applied.pools:
        print_pool(pool)
    for each in saved:
        _print_saved(each)
    if saved:
        _hint_start(saved)


async def check(call: Invocation, files: Annotated[list[Path], typer.Argument(help="YAML files.")]) -> None:
    """Report errors in YAML files, without a server; so it cannot check whether referenced workflows exist."""
    content = workflow_files.read_definition_files(files)
    if call.as_json:
        of_workflows = [{"project": each.project, "name": each.name, "file": each.file} for each in content.workflows]
        print_json(of_workflows + [{"kind": "pool", "name": each.name, "file": each.file} for each in content.pools])
        return
    for pool in content.pools:
        say(f'Pool "{pool.name}" ({counted(pool.spec.size, "resource")}) is well written.')
    for each in content.workflows:
        say(f'Workflow "{each.name}" ({counted(len(each.spec.tasks), "task")}) is well written.')
        _warn(each.file, (*each.notes, *workflow_warnings.doubts(each.spec)))
    hint(f"Save it: shoal workflow apply {' '.join(quote(str(file)) for file in files)}")


async def list_all(
    call: Invocation,
    tag: Annotated[list[str] | None, typer.Option(help="Only with this tag; several: with all.")] = None,
) -> None:
    """List the workflows by project and name."""
    workflows: Listing[listing.ListedWorkflow] = Listing(
        (
            Field("CODE", lambda head: head.code, right=True),
            Field("PROJECT", lambda head: head.project, keep=1),
            Field("WORKFLOW", lambda head: head.name),
            Field("VERSION", lambda head: head.version, right=True, keep=2),
            Field("STATE", lambda head: state(head.release_state)),
            Field("TAGS", lambda head: ", ".join(head.tags), keep=0, rare=True),
        ),
        none="No workflow has these tags." if tag else "There is no workflow yet.",
        first="List all: shoal workflow list" if tag else "Save one: shoal workflow apply examples/hello.yaml",
    )
    query = requests.WorkflowQuery.read(tag=tag)
    async with call.client() as client:
        found = await all_items(lambda page: client.ask(listing.list_workflows, page), query)
        heads = sorted(found, key=lambda head: (head.project, head.name))
        await workflows.show(call, client, heads)
    if heads and not call.as_json:
        _hint_start(heads)


async def show(
    call: Invocation,
    name: Annotated[str, typer.Argument(help="Its name, or its code.", autocompletion=complete_workflow)],
    project: Project = "default",
    version: Annotated[int | None, typer.Option(help="An older version than the current one.")] = None,
    whole_params: Annotated[bool, typer.Option("--whole", help="Show long scripts and parameters in full.")] = False,
) -> None:
    """Show what a workflow does: its tasks, their order, and their scripts and parameters."""
    async with call.client() as client:
        code = (await workflow_named(client, name, project)).code
        head = await (
            client.ask(workflow_content.get_workflow, code)
            if version is None
            else client.ask(workflow_content.get_workflow_version, code, version)
        )
        waits: Sequence[relations.DatasetWaitAnswer] = ()
        if head.is_current and any(trigger.datasets for trigger in head.spec.triggers):
            waits = (await client.ask(relations.get_workflow_relations, code)).dataset_waits
    spec = head.spec
    if call.as_json:
        fields = answer_fields(head)
        print_json(
            {
                **{field: fields[field] for field in listing.WorkflowAnswer.model_fields},
                **spec.model_dump(mode="json"),
            }
        )
        return
    say(f"{head.name}  v{head.version}  code {head.code}  project {head.project}")
    say(state(head.release_state))
    if spec.description:
        say(spec.description)
    if spec.tags:
        say(f"Tags: {', '.join(spec.tags)}")
    for trigger in spec.triggers:
        address = f": POST /api/v1{PATH.format(code=head.code)}" if trigger.webhook is not None else ""
        say(f"Starts after {trigger.words}{address}")
    for wait in waits:
        missing = ", ".join(f'"{name}"' for name in wait.missing)
        updated = "".join(f'; run {each.run} has updated "{each.dataset}"' for each in wait.updates)
        say(f"  waits for {missing}{updated}")
    print_globals(spec)
    needs = [Column("NEEDS", [_needs(task.resources) for task in spec.tasks], keep=2)]
    table(
        Column("TASK", [task.name for task in spec.tasks]),
        Column("TYPE", [task.type for task in spec.tasks]),
        Column("GROUP", [task.worker_group or spec.worker_group for task in spec.tasks], keep=1),
        Column("PRIORITY", [task.priority for task in spec.tasks], keep=0),
        *(needs if any(task.resources for task in spec.tasks) else ()),
        Column("AFTER", [", ".join(task.after) or "-" for task in spec.tasks]),
        indent=2,
    )
    named = typed(head.name, head.project, head.code)
    whole = f"shoal workflow show {named}{f' --version {version}' if version else ''} --whole"
    print_params(spec, None if whole_params else whole)
    if not head.is_current:
        hint(f"Start this version: shoal run {named} --version {version} --wait")
    else:
        _hint_start([head])


def _needs(resources: Mapping[str, int]) -> str:
    """The resources of pools that a task needs."""
    return ", ".join(f"{number} of {pool}" for pool, number in resources.items()) or "-"


def _warn(file: str, warnings: Iterable[str]) -> None:
    for sentence in warnings:
        typer.echo(f"shoal: warning: {file}: {sentence}", err=True)


def _print_saved(saved: apply_transaction.SavedWorkflow) -> None:
    before = saved.release_state_before
    what = f"saved as version {saved.version}" if saved.is_new_version else f"unchanged, version {saved.version}"
    is_switched = before not in (None, saved.release_state)
    switched = f"; it is {saved.release_state} now, it was {before}" if is_switched else ""
    say(f'Workflow "{saved.name}" ({counted(saved.tasks, "task")}, code {saved.code}): {what}{switched}.')
    for change in saved.schedules:
        say(f"  {change.sentence}.")
    _warn(saved.file, saved.warnings)
    print_firing(saved.firing)


def _hint_start(heads: Sequence[listing.WorkflowAnswer]) -> None:
    """Hint how to start the first startable workflow, or how to make the first one startable."""
    head = next((each for each in heads if each.release_state is ReleaseState.ONLINE), heads[0])
    named = typed(head.name, head.project, head.code)
    what = "it" if len(heads) == 1 else "one"
    if head.release_state is ReleaseState.ONLINE:
        hint(f"Start {what}: shoal run {named} --wait")
    else:
        hint(f"Let {what} be started: shoal workflow online {named}")
