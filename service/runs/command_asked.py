"""The answer to a request that inserted a command, and the wait for a master to take it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TypeVar

from dao.run_lists import run_listings as listings
from dao.runs import lookups
from model.accounts.rights import Right
from model.errors import NotFound, Unavailable
from model.ids import CommandId
from service.call import Call
from service.fields import Answer, Id
from service.runs.answers import NewerVersionAnswer, OlderBelowAnswer, RunAnswer
from service.runs.requests import WaitQuery

LOOK_EVERY_S = 0.05


class AskedFor(Answer):
    """What a request asked for by a command: the resource `/commands/ID` says what becomes of it.

    `slot`, such as `1/3`, and `owner`, the address of a master, are where the command belongs at the moment of the
    answer; left out when no master lives. `run` is the run that a master started or changed within the time that was
    waited: the answer has the status 200 then.
    """

    command_id: Id | None = None
    slot: str | None = None
    owner: str | None = None
    is_taken: bool = False
    """Whether a master has taken it."""
    reason: str | None = None
    """Why the master refused it."""
    run: RunAnswer | None = None

    @property
    def location(self) -> str | None:
        """The address of the command, below the API's base; None: nothing was asked for."""
        return None if self.command_id is None else f"/commands/{self.command_id}"

    @property
    def is_outcome(self) -> bool:
        """Whether it says what came of the request, which has nothing more to wait for."""
        return self.run is not None or self.command_id is None


class CommandAsked(AskedFor):
    """A command was inserted. `run_id` is the run that it changes, or has started within the time that was waited.

    `newer` is a newer version of the workflow that a rerun did not ask for, `older_below` the runs below it that go on
    though their workflows have newer versions.
    """

    command_id: Id
    workflow: str | None = None
    run_id: Id | None = None
    newer: NewerVersionAnswer | None = None
    older_below: Sequence[OlderBelowAnswer] = ()


AnyCommand = TypeVar("AnyCommand", bound=CommandAsked)


async def _with_place(call: Call, asked: AnyCommand) -> AnyCommand:
    """The answer with the slot and master to which its command belongs now."""
    place = await call.backend.slot_owners.place_of(asked.command_id)
    return asked.model_copy(update={"slot": str(place.slot) if place.slot else None, "owner": place.owner})


async def once_taken(call: Call, asked: AnyCommand, query: WaitQuery) -> AnyCommand:
    """The answer once a master has taken the command, or after the time that may be waited.

    The command is inserted: that nobody can be asked about it is no error of the request.
    """
    asked = await _with_place(call, asked)
    if not query.wait:
        return asked
    try:
        async with asyncio.timeout(query.wait):
            while True:
                found = await _fate(call, asked)
                if found.is_taken:
                    return found
                await asyncio.sleep(LOOK_EVERY_S)
    except (TimeoutError, Unavailable):
        return asked


async def _fate(call: Call, asked: AnyCommand) -> AnyCommand:
    async with call.reading() as connection:
        try:
            fate = await lookups.fate_of(connection, CommandId(asked.command_id))
        except NotFound:  # a person deleted it
            return asked
        run = None
        if fate.run_id is not None and fate.reason is None:
            run = RunAnswer.of(await listings.run_head(connection, fate.run_id), call.caller.projects_with(Right.VIEW))
    is_taken = fate.handled_at is not None or fate.reason is not None
    more = {"is_taken": is_taken, "run_id": fate.run_id or asked.run_id, "reason": fate.reason, "run": run}
    return asked.model_copy(update=more)
