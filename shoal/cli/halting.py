"""The verbs that halt and resume a run: `pause`, `stop`, `resume`."""

from __future__ import annotations

from collections.abc import Collection
from typing import Annotated

import typer

from model.command_moves import CommandType
from model.states import WorkflowState
from shoal.cli.invocation import Invocation
from shoal.cli.runs import RunName
from shoal.cli.values import AnyProject
from shoal.cli.verbs import verb

Wait = Annotated[bool, typer.Option("--wait", "-w", help="Wait until it has ended.")]

W = WorkflowState


def add_to(app: typer.Typer) -> None:
    """Add these verbs."""
    verb(app, "shoal pause @last", "shoal pause 1042 --wait")(pause)
    verb(app, "shoal stop @last", "shoal stop 1042 --wait")(stop)
    verb(app, "shoal resume @last", "shoal resume 1042 --wait")(resume)


async def pause(call: Invocation, run: RunName, project: AnyProject = None, wait: Wait = False) -> None:
    """Pause a run: running tasks finish, no new ones begin. `shoal resume` resumes it."""
    await _change(call, run, project, CommandType.PAUSE, "is being paused", wait=wait, fine=(W.PAUSE, W.SUCCESS))


async def stop(call: Invocation, run: RunName, project: AnyProject = None, wait: Wait = False) -> None:
    """Stop a run: running tasks are killed. `shoal resume` resumes it."""
    await _change(call, run, project, CommandType.STOP, "is being stopped", wait=wait, fine=(W.STOP, W.SUCCESS))


async def resume(call: Invocation, run: RunName, project: AnyProject = None, wait: Wait = False) -> None:
    """Resume a paused or stopped run: tasks that were paused or killed run again, succeeded ones do not.

    With --wait the exit code is 1 unless it ends as SUCCESS.
    """
    await _change(call, run, project, CommandType.RECOVER_SUSPENDED_PROCESS, "goes on", wait=wait, fine=(W.SUCCESS,))


async def _change(
    call: Invocation,
    run: str,
    project: str | None,
    type_: CommandType,
    said: str,
    *,
    wait: bool,
    fine: Collection[WorkflowState],
) -> None:
    from dao.commands.commands import NewCommand
    from dao.views import listings
    from service.runs.references import find_run
    from shoal.cli.following import change_run

    async with call.reading() as reading:
        found = await listings.run_head(reading.connection, await find_run(reading.connection, run, project))
        new = NewCommand(type_, workflow_instance_id=found.id)
        name = f"Run {found.id} of {found.workflow or found.workflow_code}"
        await change_run(call, reading, new, f"{name} {said}.", wait=wait, fine=fine)
