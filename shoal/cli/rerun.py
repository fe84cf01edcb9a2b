"""The verbs that repeat an ended run or change its result: `rerun`, `mark`."""

from __future__ import annotations

from typing import Annotated

import typer

from model.errors import Refused
from model.runs.states import WorkflowState
from service.runs import control, requests, showing
from shoal.cli import output
from shoal.cli.command_result import TAKEN_WITHIN_S, name_of, report_change, tell_newer
from shoal.cli.completion import complete_run
from shoal.cli.invocation import Invocation
from shoal.cli.values import AnyProject, Depend, RunName, Wait
from shoal.cli.verbs import verb


def add_to(app: typer.Typer) -> None:
    """Add these verbs."""
    verb(
        app,
        "shoal rerun @last",
        "shoal rerun @failed --failed --wait",
        "shoal rerun 1042 --task load --depend task_post",
        "shoal rerun @failed --newest --wait",
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
    newest: Annotated[
        bool,
        typer.Option(
            "--newest",
            help="With the newest version of its workflow. Alone: what succeeded and is the same in it counts as done.",
        ),
    ] = False,
    project: AnyProject = None,
    wait: Wait = False,
) -> None:
    """Run an ended run again, in the same run: all of it, only what failed, or some tasks.

    It keeps the version with which it began, unless you ask for the newest.
    """
    if failed and task:
        raise Refused("--failed and --task are two ways to say what runs again; keep one of them")
    if depend and not task:
        raise Refused("--depend needs --task: it says whether tasks before or after those run too")
    what = "goes on from what failed" if failed else f"runs {', '.join(task)} again" if task else "begins again"
    if newest:
        what = f"{what} with the newest version" if failed or task else "goes on with the newest version"
    async with call.client() as client:
        found = await client.ask(showing.find_run, requests.RunReference.read(name=run, project=project))
        request = requests.RerunRun.read(failed=failed, tasks=task, depend=depend, newest=newest)
        asked = await client.ask(control.rerun_run, found.id, request, requests.WaitQuery(wait=TAKEN_WITHIN_S))
        tell_newer(found, asked)
        said = f"{name_of(found)} {what}."
        await report_change(call, client, asked, said, wait=wait, fine=[WorkflowState.SUCCESS])


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
