"""Starts that come at the same time: one transaction for all of them, and for each its own answer.

What belongs to a start is the same as if it were alone: its right, its audit row, its idempotency key. Everything is
checked before something is written, so that one that is refused is left out, and the others are not.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy.ext.asyncio import AsyncConnection

from dao.accounts import audit, idempotency
from dao.commands import commands
from dao.commands.commands import NewCommand
from dao.definitions import definitions, startable
from dao.definitions.startable import Startable
from model.ids import WorkflowCode
from service.call import Call, Change, Replayed, Subject
from service.runs.command_asked import CommandAsked
from service.runs.references import check_startable
from service.runs.start import Start

DEFINITION = "workflow-definition"


@dataclass(frozen=True, eq=False, slots=True)
class StartAsked:
    """A call that asks for a start. `said` is what the audit says of it."""

    call: Call
    code: WorkflowCode
    start: Start
    said: Mapping[str, Any]


async def start_all(asked: Sequence[StartAsked]) -> list[CommandAsked | Exception]:
    """Insert the commands of these starts, which are of one database.

    In place of an answer stands the error of a start that was refused, or `Replayed`.

    Raises:
        Unavailable: nothing was written.
        BadData: the same; the data of one of them is to blame.
        Unknown: all of them may or may not have been written.
    """
    batch = _Batch(asked)
    async with asked[0].call.database.writing() as connection:
        await batch.find(connection)
        batch.check_rights()
        await batch.check_keys(connection)
        await batch.make_commands(connection)
        await batch.write(connection)
    return [batch.outcomes[each] for each in asked]


class _Batch:
    """The starts of one transaction; `outcomes` has those that are done or refused."""

    def __init__(self, asked: Sequence[StartAsked]) -> None:
        self.outcomes: dict[StartAsked, CommandAsked | Exception] = {}
        self._left = list(asked)
        self._found: Mapping[WorkflowCode, Startable] = {}
        self._commands: dict[StartAsked, NewCommand] = {}

    async def find(self, connection: AsyncConnection) -> None:
        """Find the workflows."""
        self._found = await startable.find(connection, {each.code for each in self._left})

    def check_rights(self) -> None:
        def check(each: StartAsked) -> None:
            if each.code not in self._found:
                raise definitions.no_workflow(each.code)
            each.call.require(self._subject(each))

        self._check(check)

    async def check_keys(self, connection: AsyncConnection) -> None:
        """Leave out what has been answered, or is being answered."""
        keyed = {each: key for each in self._left if (key := each.call.keyed) is not None}
        if not keyed:
            return
        before = dict(zip(keyed, await idempotency.begin_all(connection, list(keyed.values())), strict=True))

        def check(each: StartAsked) -> None:
            match before.get(each):
                case Exception() as error:
                    raise error
                case idempotency.Answer() as answer:
                    raise Replayed(answer)

        self._check(check)

    async def make_commands(self, connection: AsyncConnection) -> None:
        """Check the starts themselves, and make their commands."""
        contents = {each: each.start.content(self._found[each.code]) for each in self._left}
        wanted = {content for content in contents.values() if content is not None}
        specs = await definitions.specs(connection, wanted) if wanted else {}

        def check(each: StartAsked) -> None:
            found, content = self._found[each.code], contents[each]
            check_startable(found.head)
            spec = None if content is None else specs.get(content)
            self._commands[each] = each.start.command(found, spec, each.call.settings.secrets)

        self._check(check)

    async def write(self, connection: AsyncConnection) -> None:
        """Insert the commands with their audit rows and answers."""
        if not self._left:
            return
        ids = await commands.insert_many(connection, [self._commands[each] for each in self._left])
        entries, answers = [], []
        for each, id_ in zip(self._left, ids, strict=True):
            answer = CommandAsked(command_id=id_, workflow=self._found[each.code].head.name)
            change = Change(connection, after={"command": str(id_), **each.said}, answer=answer)
            entries.append(each.call.entry(self._subject(each), change))
            answers += each.call.keyed_answer(answer)
            self.outcomes[each] = answer
        await audit.insert(connection, entries)
        await idempotency.finish(connection, answers)

    def _subject(self, each: StartAsked) -> Subject:
        return Subject(DEFINITION, each.code, self._found[each.code].head.project)

    def _check(self, check: Callable[[StartAsked], None]) -> None:
        """Leave out those that fail."""
        left = []
        for each in self._left:
            try:
                check(each)
            except Exception as error:  # noqa: BLE001 - whatever it is, it is the error of this one alone
                self.outcomes[each] = error
            else:
                left.append(each)
        self._left = left
