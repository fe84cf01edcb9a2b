"""The verbs that repeat an ended run or change its result: `rerun`, `mark`."""

from __future__ import annotations

from typing import Annotated

import typer

from model.command_moves import CommandType
from model.errors import Refused
from model.states import WorkflowState
from shoal.cli.invocation import Invocation
from shoal.cli.runs import RunName
from shoal.cli.values import AnyProject, Depend, Wait
from shoal.cli.verbs import verb


def add_to(app: typer.Typer) -> None:
    """Add these verbs."""
    verb(
        app,
        "shoal rerun @last",
        "shoal rerun @failed --failed --wait",
        "shoal rerun 1042 --task load --depend task_post",
    )(rerun)
    verb(app, "shoal mark 1042/load --success", "shoal mark @failed/load --success")(mark)


async def rerun(
    call: Invocation,
    run: RunName,
    failed: Annotated[
        bool,
        typer.Option("--failed", help="Only tasks that failed or were killed, and all after them; successes stay."),
    ] = False,
    task: Annotated[list[str] | None, typer.Option("--task", "-t", help="Only this task; may be repeated.")] = None,
    depend: Depend = None,
    project: AnyProject = None,
    wait: Wait = False,
) -> None:
    """Run an ended run again, in the same run: all of it, only what failed, or some tasks."""
    import json

    from dao.commands.commands import NewCommand
    from dao.views import listings
    from service.runs.references import find_run
    from shoal.cli.following import change_run

    if failed and task:
        raise Refused("--failed and --task are two ways to say what runs again; keep one of them")
    if depend and not task:
        raise Refused("--depend says what runs beside the tasks of --task; name those too")
    async with call.reading() as reading:
        found = await listings.run_head(reading.connection, await find_run(reading.connection, run, project))
        type_, what = CommandType.REPEAT_RUNNING, "begins again"
        if failed:
            type_, what = CommandType.START_FAILURE_TASK_PROCESS, "goes on from what failed"
        elif task:
            type_, what = CommandType.EXECUTE_TASK, f"runs {', '.join(task)} again"
        new = NewCommand(
            type_,
            workflow_instance_id=found.id,
            start_tasks=json.dumps(task) if task else None,
            task_depend_type=depend,
        )
        said = f"Run {found.id} of {found.workflow or found.workflow_code} {what}."
        await change_run(call, reading, new, said, wait=wait, fine=[WorkflowState.SUCCESS])


async def mark(
    call: Invocation,
    task: Annotated[str, typer.Argument(metavar="RUN/TASK", help="A failed task of an ended run, or its id.")],
    project: AnyProject = None,
    success: Annotated[
        bool, typer.Option("--success", help="Mark it as a success: tasks that depend on it may run.")
    ] = False,
) -> None:
    """Declare a failed task a success (FORCED_SUCCESS). The run keeps its state until it is rerun."""
    from dao.tasks import forced_success
    from service.runs.references import find_task
    from shoal.cli import output

    if not success:
        raise Refused("say as what to mark it: --success")
    async with call.reading() as reading:
        run, found = await find_task(reading.connection, task, project)
        async with reading.database.writing() as connection:
            await forced_success.force_success(connection, found.id)
    match run.state:
        case WorkflowState.FAILURE:
            next_step = f"Go on from it: shoal rerun {run.id} --failed"
        case WorkflowState.PAUSE | WorkflowState.STOP:
            next_step = f"Go on from it: shoal resume {run.id}"
        case _:
            next_step = f"See it: shoal show {run.id}"
    said = f'Task "{found.name}" ({found.id}) of run {run.id} counts as a success now; it was {found.state}.'
    fields = {"task_instance_id": found.id, "run_id": run.id, "state": "FORCED_SUCCESS"}
    output.print_result(call, output.json_fields(fields), said, next_step)
