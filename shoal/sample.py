"""The sample workflow: saved and run once where there is no workflow yet, so that the first look shows something."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from importlib.resources import files

from dao import commands, definitions
from dao.commands import NewCommand
from dao.database import Database
from model.command_moves import CommandType
from model.ids import WorkflowCode
from shoal.waiting import RunEnd, follow_command
from shoal.workflow_file import parse_workflows
from worker.tasks.catalog import TaskCatalog

NAME = "hello"
"""Of the workflow, and of the file in this package, which is a link to the one in `examples/`."""
CODE = WorkflowCode(1001)
"""The one that it has in `sql/seed` too, so that what is written there and in the README works here."""
WITHIN_S = 20.0


async def run_once(database: Database) -> RunEnd | None:
    """Save the sample and run it, unless there is any workflow; how it ended, None if it did not run or end in time."""
    async with database.reading() as connection:
        if await definitions.all_heads(connection, 1):
            return None
    (sample,) = parse_workflows((files("shoal") / f"{NAME}.yaml").read_bytes(), f"{NAME}.yaml", TaskCatalog())
    async with database.writing() as connection:
        head, _ = await definitions.save(
            connection, sample.project, sample.name, sample.release_state, sample.spec, new_code=CODE
        )
        command = await commands.insert(
            connection, NewCommand(CommandType.START_PROCESS, head.code, created_by="shoal up")
        )
    with suppress(TimeoutError):
        async with asyncio.timeout(WITHIN_S):
            return await follow_command(database, command)
    return None
