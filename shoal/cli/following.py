"""Asking for something by a command and telling what became of it: at once, or when its run has ended."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Collection
from dataclasses import asdict
from typing import TYPE_CHECKING

import typer

from model.states import WorkflowState
from shoal.cli.call import Asking, Call

if TYPE_CHECKING:
    from dao.commands import NewCommand
    from dao.database import Database
    from model.ids import CommandId
    from shoal.waiting import RunEnd

LATE_S = 5.0
"""After so many seconds a person who waits wants to know for what."""
NOT_FINE = 1


async def change_run(
    call: Call, ask: Asking, new: NewCommand, said: str, *, wait: bool, fine: Collection[WorkflowState]
) -> None:
    """Ask for a change of a run and tell whether it was done.

    Args:
        said: what is so when a master did it.
        wait: until the run has ended; then the exit code is 1 unless it ended as one of `fine`.
    Raises:
        NotDone: the master that took the command refused it.
    """
    from dao import commands
    from shoal.cli.answer import hint, json_fields, print_json, say
    from shoal.waiting import until_taken

    async with ask.database.writing() as connection:
        command = await commands.insert(connection, new)
    taken = await until_taken(ask.database, command)
    if wait:
        print_end(call, command, await follow(ask.database, command), fine=fine)
        return
    if call.as_json:
        run = new.workflow_instance_id
        print_json(json_fields({"command_id": command, "run_id": run, "is_done": taken is not None}))
        return
    if taken is None:
        say(f"Command {command} asks for it, and waits for a master.")
        hint(f"Why it waits: shoal why command {command}")
        return
    say(said)
    hint(f"See it: shoal show {new.workflow_instance_id}   What it waits for: shoal why {new.workflow_instance_id}")


async def follow(database: Database, command: CommandId) -> RunEnd:
    """Wait for the end of the run that a command starts or changes. Raises `Refused` if it is refused."""
    from shoal.waiting import follow_command

    sentence = f"shoal: command {command} still waits for a master; `shoal why command {command}` says why\n"
    late = asyncio.get_running_loop().call_later(LATE_S, sys.stderr.write, sentence)
    try:
        return await follow_command(database, command, started=lambda _fate: late.cancel())
    finally:
        late.cancel()


def print_end(call: Call, command: CommandId, end: RunEnd, *, fine: Collection[WorkflowState]) -> None:
    """Tell how a run ended, and end with exit code 1 unless that is `fine`."""
    from shoal.cli.answer import hint, json_fields, print_json, say
    from shoal.words import counted, duration, plain

    if call.as_json:
        print_json(json_fields({"command_id": command, "run_id": end.run, **asdict(end)}))
    else:
        why = f": {plain(end.reason)}" if end.reason else ""
        say(
            f"Run {end.run} of {end.workflow}: {end.state}, {counted(end.tasks, 'task')} in {duration(end.took_s)}{why}"
        )
        hint(f"See its tasks: shoal show {end.run}")
    if end.state not in fine:
        raise typer.Exit(NOT_FINE)
