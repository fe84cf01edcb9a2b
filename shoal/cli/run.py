"""`shoal run`: starts a workflow."""

from __future__ import annotations

from shlex import quote

import typer

from model.errors import Refused
from model.runs.states import WorkflowState
from service.runs import requests as run_requests
from shoal.cli import asked_values, command_result
from shoal.cli.invocation import Invocation
from shoal.cli.named import workflow_named
from shoal.cli.output import json_fields, print_result
from shoal.cli.values import Params, Project, RunOptions, Waiting, WorkflowName, read_values
from shoal.cli.verbs import verb


def add_to(app: typer.Typer) -> None:
    verb(
        app,
        "shoal run hello",
        "shoal run hello --param name=Ada --wait",
        "shoal run hello --task count_cores --depend task_only",
    )(run)


async def run(
    call: Invocation,
    name: WorkflowName,
    options: RunOptions,
    waiting: Waiting,
    param: Params = None,
    project: Project = "default",
) -> None:
    """Start a workflow: one row in `command`, which the master of its slot takes."""
    if options.depend and not options.tasks:
        raise Refused("--depend needs --task: it says whether tasks before or after those run too")
    within_s = waiting.limit_s()
    request = run_requests.StartRun.read(params=read_values(param or []), **vars(options))
    async with call.client() as client:
        head = await workflow_named(client, name, project)
        command = (await asked_values.start(call, client, head.code, request)).command_id
        if not waiting.wait:
            said = f'Workflow "{head.name}" is requested by command {command}.'
            see = f"See it: shoal show {quote(head.name)}   Why does it not run: shoal why command {command}"
            print_result(call, json_fields({"command_id": command, "workflow": head.name}), said, see)
            return
        end = await command_result.follow(client, command, within_s=within_s)
    command_result.print_end(call, command, end, fine=[WorkflowState.SUCCESS])
