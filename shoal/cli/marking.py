"""`shoal task mark`: declares a failed task a success."""

from __future__ import annotations

from typing import Annotated

import typer

from model.errors import Refused
from model.runs.states import WorkflowState
from service.runs import control, requests, showing
from shoal.cli import output
from shoal.cli.completion import complete_run
from shoal.cli.invocation import Invocation
from shoal.cli.values import AnyProject
from shoal.cli.verbs import verb


def add_to(group: typer.Typer) -> None:
    """Add the verb."""
    verb(group, "shoal task mark 1042/load --success", "shoal task mark @failed/load --success")(mark)


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
