"""The verbs that halt and resume a run: `pause`, `stop`, `resume`."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from model.runs.states import WorkflowState
from service.runs import control, requests
from shoal.cli.command_result import TAKEN_WITHIN_S, name_of, report_change, tell_newer
from shoal.cli.invocation import Invocation
from shoal.cli.named import run_named
from shoal.cli.values import AnyProject, RunName
from shoal.cli.verbs import verb

if TYPE_CHECKING:
    from service.operation import Operation
    from service.runs.command_asked import CommandAsked

W = WorkflowState


def add_to(app: typer.Typer) -> None:
    verb(app, "shoal pause @last", "shoal pause 1042 --wait")(pause)
    verb(app, "shoal stop @last", "shoal stop 1042 --wait")(stop)
    verb(app, "shoal resume @last", "shoal resume 1042 --wait")(resume)


@dataclass(frozen=True)
class Wanted:
    """Which run, and whether to wait for its end."""

    run: RunName
    project: AnyProject = None
    wait: Annotated[bool, typer.Option("--wait", "-w", help="Wait until it has ended.")] = False


async def pause(call: Invocation, wanted: Wanted) -> None:
    """Pause a run: running tasks finish, no new ones begin. `shoal resume` resumes it."""
    await _change(call, wanted, control.pause_run, "is being paused", (W.PAUSE, W.SUCCESS))


async def stop(call: Invocation, wanted: Wanted) -> None:
    """Stop a run: running tasks are killed. `shoal resume` resumes it."""
    await _change(call, wanted, control.stop_run, "is being stopped", (W.STOP, W.SUCCESS))


async def resume(call: Invocation, wanted: Wanted) -> None:
    """Resume a paused or stopped run: tasks that were paused or killed run again, succeeded ones do not.

    With --wait the exit code is 1 unless it ends as SUCCESS.
    """
    await _change(call, wanted, control.resume_run, "goes on", (W.SUCCESS,))


async def _change(
    call: Invocation,
    wanted: Wanted,
    operation: Operation[[int, requests.WaitQuery], CommandAsked],
    said: str,
    fine: Collection[WorkflowState],
) -> None:
    async with call.client() as client:
        found = await run_named(client, wanted.run, wanted.project)
        asked = await client.ask(operation, found.id, requests.WaitQuery(wait=TAKEN_WITHIN_S))
        tell_newer(found, asked)
        await report_change(call, client, asked, f"{name_of(found)} {said}.", wait=wanted.wait, fine=fine)
