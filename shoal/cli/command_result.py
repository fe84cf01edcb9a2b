"""Reports the result of a command: at once, or when its run has ended."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Collection, Sequence
from dataclasses import asdict

import typer

from model.errors import Unavailable
from model.runs.states import TaskState, WorkflowState
from service.explain import answer
from service.runs import answers, command_asked
from service.words import counted, duration, plain
from shoal.cli import exit_codes
from shoal.cli.invocation import Invocation
from shoal.cli.output import json_fields, print_result
from shoal.clients.client import Client
from shoal.clients.waiting import NotDone, RunEnd, follow_command

TAKEN_WITHIN_S = 5.0
"""A master takes a command within moments; after this time it is better to report that none did."""
LATE_S = 5.0
"""After this many seconds the wait is explained to the user."""


def name_of(run: answers.RunAnswer) -> str:
    """The run in words, such as `Run 12 of hello`."""
    return f"Run {run.id} of {run.workflow or run.workflow_code}"


def tell_newer(run: answers.RunAnswer, asked: command_asked.CommandAsked) -> None:
    """Say on standard error that a run, or one below it, continues with an older version."""
    if (newer := asked.newer) is not None and asked.reason is None:
        changes = answer.names_of(newer.changes) if newer.changes else "no task"
        keeps = f"it keeps v{run.version}; v{newer.version} changes {changes}"
        sys.stderr.write(f"shoal: {keeps}; with v{newer.version}: shoal rerun {run.id} --newest\n")
    for below in asked.older_below if asked.reason is None else ():
        keeps = f"run {below.id} of {below.workflow} below it keeps v{below.version}"
        sys.stderr.write(f"shoal: {keeps}; to have v{below.newest}, first: shoal rerun {below.id} --newest\n")


async def report_change(
    call: Invocation,
    client: Client,
    asked: command_asked.CommandAsked,
    said: str,
    *,
    wait: bool,
    fine: Collection[WorkflowState],
) -> None:
    """Report whether the requested change of a run was made.

    Args:
        asked: the answer, after a master had `TAKEN_WITHIN_S` to take the command.
        said: the result to report when a master has done it.
        wait: until the run has ended; then the exit code is 1 unless its final state is one of `fine`.
    Raises:
        NotDone: the master that took the command refused it.
    """
    if asked.reason is not None:
        raise NotDone(asked.reason)
    command, run = asked.command_id, asked.run_id
    if wait:
        print_end(call, command, await follow(client, command), fine=fine)
        return
    see = f"See it: shoal show {run}   What it waits for: shoal why {run}"
    if not asked.is_taken:
        said = f"Command {command} asks for it, and waits for a master."
        see = f"Why it waits: shoal why command {command}"
    fields = json_fields({"command_id": command, "run_id": run, "is_done": asked.is_taken})
    print_result(call, fields, said, see)


async def follow(client: Client, command: int, *, within_s: float | None = None) -> RunEnd:
    """Wait for the end of the run that a command starts or changes, and report progress on standard error.

    Args:
        within_s: seconds after which the wait ends; None: never. The run continues.
    Raises:
        NotDone: it took longer than `within_s`.
        Refused: the command was refused.
    """
    progress = _Progress(command)
    sentence = f"shoal: command {command} still waits for a master; `shoal why command {command}` says why\n"
    late = asyncio.get_running_loop().call_later(LATE_S, sys.stderr.write, sentence)

    def started(fate: answers.CommandAnswer) -> None:
        late.cancel()
        progress.started(fate)

    try:
        async with asyncio.timeout(within_s):
            return await follow_command(client, command, started=started, polled=progress.polled, away=tell_away)
    except TimeoutError:
        raise NotDone(f"not ended after {within_s:g} s; the run continues: {progress.see}") from None
    finally:
        late.cancel()


def tell_away(error: Unavailable) -> None:
    """Report an unavailable server, which is asked until it answers."""
    sys.stderr.write(f"shoal: {error}; the wait continues\n")


class _Progress:
    """Shows what happens during the wait, on standard error: standard output is for the result."""

    def __init__(self, command: int) -> None:
        self.see = f"shoal why command {command}"
        self._shown: set[tuple[str, TaskState]] = set()

    def started(self, fate: answers.CommandAnswer) -> None:
        """A master took the command."""
        self.see = f"shoal show {fate.run_id}"
        did = f"is asked to {fate.type.lower()}" if fate.type in ("PAUSE", "STOP") else "has begun"
        sys.stderr.write(f"Run {fate.run_id} {did}. Ctrl-C ends only this wait, not the run. See it: {self.see}\n")

    def polled(self, tasks: Sequence[answers.TaskAnswer]) -> None:
        """Report the tasks that ended, on a terminal only."""
        if not sys.stderr.isatty():
            return
        for task in tasks:
            if task.state.is_final and (task.name, task.state) not in self._shown:
                self._shown.add((task.name, task.state))
                sys.stderr.write(f"  {task.name}: {task.state}\n")


def print_end(call: Invocation, command: int, end: RunEnd, *, fine: Collection[WorkflowState]) -> None:
    """Report how a run ended, and exit with code 1 unless its state is in `fine`."""
    why = f": {plain(end.reason)}" if end.reason else ""
    said = f"Run {end.run} of {end.workflow}: {end.state}, {counted(end.tasks, 'task')} in {duration(end.took_s)}{why}"
    fields = json_fields({"command_id": command, "run_id": end.run, **asdict(end)})
    print_result(call, fields, said, f"See its tasks: shoal show {end.run}")
    if end.state not in fine:
        raise typer.Exit(exit_codes.FAILED)
