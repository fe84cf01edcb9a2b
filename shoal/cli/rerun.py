"""`shoal rerun`: repeats an ended run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import typer

from model.errors import Refused
from model.runs.states import WorkflowState
from service.runs import control, requests
from shoal.cli.command_result import TAKEN_WITHIN_S, name_of, report_change, tell_newer
from shoal.cli.invocation import Invocation
from shoal.cli.named import run_named
from shoal.cli.values import AnyProject, Depend, RunName, Wait
from shoal.cli.verbs import verb


def add_to(app: typer.Typer) -> None:
    verb(
        app,
        "shoal rerun @last",
        "shoal rerun @failed --failed --wait",
        "shoal rerun 1042 --task load --depend task_post",
        "shoal rerun @failed --newest --wait",
    )(rerun)


@dataclass(frozen=True)
class RerunOptions:
    """Which tasks run again, by the names of the API."""

    failed: Annotated[
        bool,
        typer.Option("--failed", help="Only tasks that failed or were killed, and all after them; successes stay."),
    ] = False
    tasks: Annotated[list[str] | None, typer.Option("--task", "-t", help="Only this task; may be repeated.")] = None
    depend: Depend = None
    newest: Annotated[
        bool,
        typer.Option(
            "--newest",
            help="With the newest version of its workflow. Alone: what succeeded and is the same in it counts as done.",
        ),
    ] = False

    def in_words(self) -> str:
        """The rerun in words. Raises `Refused` for options that exclude each other."""
        if self.failed and self.tasks:
            raise Refused("--failed and --task are two ways to say what runs again; keep one of them")
        if self.depend and not self.tasks:
            raise Refused("--depend needs --task: it says whether tasks before or after those run too")
        if self.failed:
            what = "goes on from what failed"
        elif self.tasks:
            what = f"runs {', '.join(self.tasks)} again"
        else:
            return "goes on with the newest version" if self.newest else "begins again"
        return f"{what} with the newest version" if self.newest else what


async def rerun(
    call: Invocation, run: RunName, options: RerunOptions, project: AnyProject = None, wait: Wait = False
) -> None:
    """Run an ended run again, in the same run: all of it, only what failed, or some tasks.

    It keeps the version with which it began, unless you ask for the newest.
    """
    what = options.in_words()
    async with call.client() as client:
        found = await run_named(client, run, project)
        request = requests.RerunRun.read(**vars(options))
        asked = await client.ask(control.rerun_run, found.id, request, requests.WaitQuery(wait=TAKEN_WITHIN_S))
        tell_newer(found, asked)
        said = f"{name_of(found)} {what}."
        await report_change(call, client, asked, said, wait=wait, fine=[WorkflowState.SUCCESS])
