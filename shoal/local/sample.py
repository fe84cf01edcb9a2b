"""The sample workflow: saved and run once in a new database, so that there is something to see.

`shoal workflow delete hello` removes it permanently.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from importlib.resources import files

from dao.commands import commands
from dao.commands.commands import NewCommand
from dao.definitions import definitions
from dao.postgres.database import Database
from dao.runs import lookups
from model.ids import WorkflowCode
from model.runs.command_moves import CommandType
from service.workflows.workflow_file import parse_workflows
from shoal.clients.client import Client
from shoal.clients.waiting import RunEnd, follow_command
from worker.tasks.catalog import TaskCatalog

NAME = "hello"
"""The name of the workflow, and of its file in this package, which is a link to the one in `examples/`."""
CODE = WorkflowCode(1001)
"""The same code as in `sql/seed`, so that the examples there and in the README work here."""
WITHIN_S = 20.0


async def run_once(database: Database, client: Client) -> RunEnd | None:
    """Save and run the sample in an unused database; returns its end, None if it did not run or end in time.

    `client` asks the same database.
    """
    async with database.reading() as connection:
        if not await lookups.is_unused(connection):
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
            return await follow_command(client, command)
    return None
