"""Inserting a command and reporting the result: at once, or when its run has ended."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Collection, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

import typer

from model.errors import Refused
from model.states import TaskState, WorkflowState
from shoal.cli.invocation import Invocation, Reading

if TYPE_CHECKING:
    from dao.commands.commands import NewCommand
    from dao.postgres.database import Database
    from dao.views.listings import TaskRun
    from dao.views.lookups import CommandFate
    from model.errors import Unavailable
    from model.ids import CommandId
    from service.runs.waiting import RunEnd

LATE_S = 5.0
"""After this many seconds the wait is explained to the user."""
NOT_FINE = 1


async def change_run(
    call: Invocation, reading: Reading, new: NewCommand, said: str, *, wait: bool, fine: Collection[WorkflowState]
) -> None:
    """Request a change of a run and report whether it was done.

    Args:
        said: the result to report when a master has done it.
        wait: until the run has ended; then the exit code is 1 unless its final state is one of `fine`.
    Raises:
        NotDone: the master that took the command refused it.
    """
    from dao.commands import commands
    from service.runs.waiting import until_taken
    from shoal.cli.output import json_fields, print_result

    async with reading.database.writing() as connection:
        command = await commands.insert(connection, new)
    taken = await until_taken(reading.database, command)
    if wait:
        print_end(call, command, await follow(reading.database, command), fine=fine)
        return
    run = new.workflow_instance_id
    see = f"See it: shoal show {run}   What it waits for: shoal why {run}"
    if taken is None:
        said = f"Command {command} asks for it, and waits for a master."
        see = f"Why it waits: shoal why command {command}"
    print_result(call, json_fields({"command_id": command, "run_id": run, "is_done": taken is not None}), said, see)


async def follow(database: Database, command: CommandId, *, within_s: float | None = None) -> RunEnd:
    """Wait for the end of the run that a command starts or changes, and report progress on standard error.

    Args:
        within_s: seconds after which the wait ends; None: never. The run continues.
    Raises:
        NotDone: it took longer than `within_s`.
        Refused: the command was refused.
    """
    from service.runs.waiting import NotDone, follow_command

    progress = _Progress(command)
    sentence = f"shoal: command {command} still waits for a master; `shoal why command {command}` says why\n"
    late = asyncio.get_running_loop().call_later(LATE_S, sys.stderr.write, sentence)

    def started(fate: CommandFate) -> None:
        late.cancel()
        progress.started(fate)

    try:
        async with asyncio.timeout(within_s):
            return await follow_command(
                database, command, started=started, polled=progress.polled, away=progress.database_is_away
            )
    except TimeoutError:
        raise NotDone(f"not ended after {within_s:g} s; the run goes on: {progress.see}") from None
    finally:
        late.cancel()


def wait_limit_s(timeout: str | None, *, wait: bool) -> float | None:
    """The seconds of --timeout. Raises `Refused` if it is no time span, or if nothing is waited for."""
    from model.durations import read_duration

    if timeout is not None and not wait:
        raise Refused("--timeout limits --wait; give that too")
    return None if timeout is None else read_duration(timeout, "--timeout").total_seconds()


class _Progress:
    """Shows a person who waits what happens, on standard error: standard output is for the result."""

    def __init__(self, command: CommandId) -> None:
        self.see = f"shoal why command {command}"
        self._shown: set[tuple[str, TaskState]] = set()
        self._away = False

    def started(self, fate: CommandFate) -> None:
        """A master took the command."""
        self.see = f"shoal show {fate.run}"
        sys.stderr.write(f"Run {fate.run} has begun. Ctrl-C ends only this wait, not the run. See it: {self.see}\n")

    def polled(self, tasks: Sequence[TaskRun]) -> None:
        """Report the tasks that ended, on a terminal only."""
        self._away = False
        if not sys.stderr.isatty():
            return
        for task in tasks:
            if task.state.is_final and (task.name, task.state) not in self._shown:
                self._shown.add((task.name, task.state))
                sys.stderr.write(f"  {task.name}: {task.state}\n")

    def database_is_away(self, error: Unavailable) -> None:
        """Report that the database is away; it is polled until it answers."""
        if not self._away:
            sys.stderr.write(f"shoal: {error}; the wait goes on\n")
        self._away = True


def print_end(call: Invocation, command: CommandId, end: RunEnd, *, fine: Collection[WorkflowState]) -> None:
    """Report how a run ended, and exit with code 1 unless its state is in `fine`."""
    from service.words import counted, duration, plain
    from shoal.cli.output import json_fields, print_result

    why = f": {plain(end.reason)}" if end.reason else ""
    said = f"Run {end.run} of {end.workflow}: {end.state}, {counted(end.tasks, 'task')} in {duration(end.took_s)}{why}"
    fields = json_fields({"command_id": command, "run_id": end.run, **asdict(end)})
    print_result(call, fields, said, f"See its tasks: shoal show {end.run}")
    if end.state not in fine:
        raise typer.Exit(NOT_FINE)
