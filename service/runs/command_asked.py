"""The answer to a request that inserted a command, and the wait for a master to take it."""

from __future__ import annotations

import asyncio

from sqlalchemy.ext.asyncio import AsyncConnection

from dao.views import lookups
from model.errors import NotFound, Unavailable
from model.ids import CommandId
from service.call import Call
from service.fields import Answer, Id

LOOK_EVERY_S = 0.05


class CommandAsked(Answer):
    """A command was inserted. `run_id` is the run that it changes, or has started within the time that was waited."""

    command_id: Id
    workflow: str | None = None
    run_id: Id | None = None
    is_taken: bool = False
    """Whether a master has taken it."""
    reason: str | None = None
    """Why the master refused it."""


async def once_taken(call: Call, asked: CommandAsked, wait_s: float) -> CommandAsked:
    """The answer once a master has taken the command, or after `wait_s` seconds.

    The command is inserted: that nobody can be asked about it any more is no error of the request.
    """
    if not wait_s:
        return asked
    try:
        async with asyncio.timeout(wait_s):
            while True:
                async with call.reading() as connection:
                    found = await _fate(connection, asked)
                if found.is_taken:
                    return found
                await asyncio.sleep(LOOK_EVERY_S)
    except (TimeoutError, Unavailable):
        return asked


async def _fate(connection: AsyncConnection, asked: CommandAsked) -> CommandAsked:
    try:
        fate = await lookups.fate_of(connection, CommandId(asked.command_id))
    except NotFound:  # a person deleted it
        return asked
    is_taken = fate.handled_at is not None or fate.reason is not None
    return asked.model_copy(update={"is_taken": is_taken, "run_id": fate.run or asked.run_id, "reason": fate.reason})
