"""`shoal task`: lists attempts of tasks; its other verbs change the result of one, and restart streams."""

from __future__ import annotations

from typing import Annotated

import typer

from model.errors import Refused
from model.runs.states import WorkflowState
from service.runs import answers, attempts, control, requests, showing
from service.words import duration, plain
from shoal.cli import approvals, output, streams
from shoal.cli.completion import complete_run
from shoal.cli.filters import AttemptFilters
from shoal.cli.invocation import Invocation
from shoal.cli.listing import Field, Listing
from shoal.cli.values import AnyProject
from shoal.cli.verbs import new_group, verb
from shoal.clients.pages import all_items


def add_to(app: typer.Typer) -> None:
    group = new_group(app, "task", "Tasks of all runs: list, answer an approval, force a success, restart streams.")
    verb(
        group,
        "shoal task list --state failure --since 1d",
        "shoal task list --worker w1 --state running_execution",
        name="list",
    )(list_all)
    verb(group, "shoal task mark 1042/load --success", "shoal task mark @failed/load --success")(mark)
    approvals.add_to_tasks(group)
    streams.add_to_tasks(group)


async def list_all(
    call: Invocation,
    filters: AttemptFilters,
    limit: Annotated[int, typer.Option(min=1, max=100_000, help="At most this many, newest first.")] = 20,
) -> None:
    """List attempts of tasks of all runs, newest first."""
    asked = requests.TaskQuery.read(**filters.given())
    async with call.client() as client:
        found = await all_items(lambda page: client.ask(attempts.list_task_instances, page), asked, limit)
        await ATTEMPTS.show(call, client, found)


async def mark(
    call: Invocation,
    task: Annotated[
        str,
        typer.Argument(
            metavar="RUN/TASK", help="A failed task of an ended run, or its id.", autocompletion=complete_run
        ),
    ],
    project: AnyProject = None,
    success: Annotated[
        bool, typer.Option("--success", help="Mark it as a success: tasks that depend on it may run.")
    ] = False,
) -> None:
    """Declare a failed task a success (FORCED_SUCCESS). The run keeps its state until it is rerun."""
    if not success:
        raise Refused("say as what to mark it: --success")
    async with call.client() as client:
        found = await client.ask(showing.find_task_instance, requests.TaskReference.read(name=task, project=project))
        done = await client.ask(control.force_task_success, found.id)
    match done.run_state:
        case WorkflowState.FAILURE:
            next_step = f"Go on from it: shoal rerun {done.run_id} --failed"
        case WorkflowState.PAUSE | WorkflowState.STOP:
            next_step = f"Go on from it: shoal resume {done.run_id}"
        case _:
            next_step = f"See it: shoal show {done.run_id}"
    said = f'Task "{done.task}" ({found.id}) of run {done.run_id} counts as a success now; it was {done.before}.'
    fields = {"task_instance_id": found.id, "run_id": done.run_id, "state": done.state}
    output.print_result(call, output.json_fields(fields), said, next_step)


ATTEMPTS: Listing[answers.AttemptAnswer] = Listing(
    (
        Field("ID", lambda each: each.id, right=True),
        Field("RUN", lambda each: each.run_id, right=True),
        Field("WORKFLOW", lambda each: each.workflow or f"code {each.workflow_code}", keep=4),
        Field("TASK", lambda each: each.name),
        Field("TYPE", lambda each: each.type, keep=1),
        Field("STATE", lambda each: output.state(each.state)),
        Field("STARTED", lambda each: each.started_at, keep=3, right=True),
        Field("TOOK", lambda each: duration(each.took_s), right=True),
        Field("WORKER", lambda each: each.worker or "-", keep=0),
        Field("WHY", lambda each: plain(each.reason or ""), keep=2, sentence=True),
    ),
    none="No attempt of a task matches.",
    first="See those of a run: shoal show RUN",
    then=lambda first: f"Its log: shoal log {first.id}   Its run: shoal show {first.run_id}",
)
