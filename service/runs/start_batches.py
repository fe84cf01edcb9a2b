"""Starts that come at the same time: one transaction for all of them, and for each its own answer.

What belongs to a start is the same as if it were alone: its right, its audit row, its idempotency key. Everything is
checked before something is written, so that one that is refused is left out, and the others are not.

Definitions are read and parsed before the transaction begins, in a thread: those of a batch may take seconds, and the
database ends a transaction that sends nothing for that long. The transaction compares the heads with those that were
checked.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dao.accounts import audit, idempotency
from dao.commands import commands
from dao.commands.commands import NewCommand
from dao.definitions import definitions, versions
from dao.definitions.definitions import Definition
from dao.postgres.database import Database
from dao.postgres.pool import AsyncConnection
from model.cost import TooCostly
from model.errors import Refused, Unavailable
from model.ids import WorkflowCode
from service.call import Call, Change, Replayed, Subject
from service.runs.asking_versions import AskingVersions
from service.runs.command_asked import CommandAsked
from service.runs.references import check_startable
from service.runs.start_check import ReadVersion
from service.runs.start_command import Start

DEFINITION = "workflow-definition"
CHECKS_MAX = 3
"""How often the starts of a batch are checked, if their workflows change meanwhile."""


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
    batch = _Batch(asked, asked[0].call.backend.asking)
    database = asked[0].call.database
    for is_last in [False] * (CHECKS_MAX - 1) + [True]:
        await batch.prepare(database)
        async with database.writing() as connection:
            await batch.find(connection)
            batch.check_rights()
            if is_last or batch.is_prepared:
                await batch.check_keys(connection)
                batch.make_commands()
                await batch.write(connection)
                break
    return [batch.outcomes[each] for each in asked]


@dataclass(frozen=True, slots=True)
class _Prepared:
    """The command of a start, or why it is refused, while its workflow is as it was `found`."""

    found: Definition
    command: NewCommand | Exception


class _Batch:
    """The starts of one transaction; `outcomes` has those that are done or refused."""

    def __init__(self, asked: Sequence[StartAsked], asking: AskingVersions) -> None:
        self._asking = asking
        self.outcomes: dict[StartAsked, CommandAsked | Exception] = {}
        self._left = list(asked)
        self._found: Mapping[WorkflowCode, Definition] = {}
        self._prepared: dict[StartAsked, _Prepared] = {}
        self._commands: dict[StartAsked, NewCommand] = {}

    async def prepare(self, database: Database) -> None:
        """Check the starts whose definitions must be read, outside any transaction."""
        if not self._found and not any(each.start.values or each.start.tasks for each in self._left):
            return  # most starts, which need one transaction and nothing else
        async with database.reading() as connection:
            if not self._found:
                await self.find(connection)
                self.check_rights()
            wanted = self._unprepared()
            contents = await definitions.contents(connection, set(wanted.values())) if wanted else {}
        if wanted:
            self._prepared |= await asyncio.to_thread(_prepared, wanted, self._found, contents)

    @property
    def is_prepared(self) -> bool:
        """Whether all starts that are left were checked with their workflows as they are now."""
        return not self._unprepared()

    def _unprepared(self) -> dict[StartAsked, tuple[WorkflowCode, int]]:
        """The starts that are to be checked, and the versions that must be read for it."""
        wanted = {}
        for each in self._left:
            before, found = self._prepared.get(each), self._found[each.code]
            if self._needs_content(each, found) and (before is None or before.found != found):
                wanted[each] = each.start.version(found)
        return wanted

    def _needs_content(self, each: StartAsked, found: Definition) -> bool:
        return each.start.needs_content(found) or each.start.version(found) in self._asking

    async def find(self, connection: AsyncConnection) -> None:
        self._found = await definitions.heads(connection, {each.code for each in self._left})
        heads = ((each, self._found.get(each.code)) for each in self._left)
        begun = {each.start.version(head) for each, head in heads if head is not None}
        if self._asking.unknown(begun):
            self._asking.learn(begun, await versions.asking(connection, begun))

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

    def make_commands(self) -> None:
        """Take the commands that were prepared, and make those that need no definition."""
        late = self._unprepared()

        def check(each: StartAsked) -> None:
            found = self._found[each.code]
            check_startable(found)
            if each in late:
                raise Unavailable(f'workflow "{found.name}" is being changed all the time; ask again')
            if not self._needs_content(each, found):
                self._commands[each] = each.start.command(found, None, each.call.settings.secrets)
                return
            command = self._prepared[each].command
            if isinstance(command, Exception):
                raise command
            self._commands[each] = command

        self._check(check)

    async def write(self, connection: AsyncConnection) -> None:
        """Insert the commands with their audit rows and answers."""
        if not self._left:
            return
        ids = await commands.insert_many(connection, [self._commands[each] for each in self._left])
        entries, answers = [], []
        for each, id_ in zip(self._left, ids, strict=True):
            answer = CommandAsked(command_id=id_, workflow=self._found[each.code].name)
            change = Change(connection, after={"command": str(id_), **each.said}, answer=answer)
            entries.append(each.call.entry(self._subject(each), change))
            answers += each.call.keyed_answer(answer)
            self.outcomes[each] = answer
        await audit.insert(connection, entries)
        await idempotency.finish(connection, answers)

    def _subject(self, each: StartAsked) -> Subject:
        return Subject(DEFINITION, each.code, self._found[each.code].project)

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


def _prepared(
    wanted: Mapping[StartAsked, tuple[WorkflowCode, int]],
    found: Mapping[WorkflowCode, Definition],
    contents: Mapping[tuple[WorkflowCode, int], str],
) -> dict[StartAsked, _Prepared]:
    """The commands of these starts, whose versions have these contents. Takes seconds where they are large."""
    prepared = {}
    for key in set(wanted.values()):  # one definition after the other, so that only one is in memory
        version: ReadVersion | Refused | TooCostly | None = _read(contents[key]) if key in contents else None
        for each in [each for each, its in wanted.items() if its == key]:
            workflow = found[each.code]
            command: NewCommand | Exception
            try:
                if isinstance(version, TooCostly):
                    raise version
                command = each.start.command(workflow, version, each.call.settings.secrets)
            except Exception as error:  # noqa: BLE001 - whatever it is, it is the error of this one alone
                command = error
            prepared[each] = _Prepared(workflow, command)
    return prepared


def _read(content: str) -> ReadVersion | Refused | TooCostly:
    try:
        return ReadVersion(definitions.read_spec(content))
    except (Refused, TooCostly) as error:
        return error
