"""What an error command touches, and whether it may be asked for again: the rights and limits of a start or a rerun."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dao.commands import commands, error_commands
from dao.definitions import definitions, references
from model.errors import Refused
from model.ids import WorkflowCode, WorkflowInstanceId
from model.runs.backfill import BackfillSpec
from model.runs.command_moves import REVIVING, CommandType
from model.runs.commands import BACKFILL
from service.projects.limits import check_limits_of_reruns, check_limits_of_start

if TYPE_CHECKING:
    from dao.commands.rows import ErrorCommand
    from dao.definitions.definitions import Definition
    from dao.postgres.pool import AsyncConnection


@dataclass(frozen=True)
class Touched:
    """An error command, and the workflows that its backfill fills besides its own."""

    error: ErrorCommand
    dependents: Sequence[Definition]

    @property
    def own_projects(self) -> list[str | None]:
        """Those of what it names; None: that of a workflow that is gone."""
        return [*sorted(self.error.projects)] or [None]

    @property
    def projects(self) -> list[str | None]:
        """All that it touches."""
        return [*sorted(self.error.projects | {each.project for each in self.dependents})] or [None]


async def touched(connection: AsyncConnection, ids: Collection[int], *, retried: bool) -> list[Touched]:
    """These error commands, oldest first; `retried`: they touch the projects of dependents too. Raises `NotFound`."""
    found = []
    for error in await error_commands.some_error_commands(connection, ids):
        below = await dependents_of(connection, error, error.type, error.workflow_code) if retried else []
        found.append(Touched(error, below))
    return found


async def dependents_of(
    connection: AsyncConnection, error: ErrorCommand, type_: str, code: int | None
) -> list[Definition]:
    """The workflows that its backfill fills besides the one with this code; none if it is no backfill of those."""
    if type_ != CommandType.COMPLEMENT_DATA or code is None:
        return []
    try:
        spec = BackfillSpec.parse(json.dumps(params_of(error).get(BACKFILL)))
    except Refused:
        return []  # a master refuses it too
    if not spec.dependents:
        return []
    below = await references.depending_on(connection, WorkflowCode(code))
    return list((await definitions.heads(connection, below)).values())


async def projects_started(connection: AsyncConnection, error: ErrorCommand) -> set[str]:
    """The projects whose workflows it starts: that of its workflow, and of the dependents of its backfill."""
    if error.workflow_code is None:
        return set()
    code = WorkflowCode(error.workflow_code)
    below = await dependents_of(connection, error, error.type, code)
    return {each.project for each in (*(await definitions.heads(connection, [code])).values(), *below)}


async def check_limits_of_retry(
    connection: AsyncConnection,
    error: ErrorCommand,
    type_: str,
    head: Definition,
    version: int | None,
    group: str | None,
) -> None:
    """Refuse what the projects of `head` and of its dependents may not use. Raises `Refused`."""
    start = commands.NewCommand(CommandType.START_PROCESS, worker_group=group)
    await check_limits_of_start(connection, head, version, start)
    for each in await dependents_of(connection, error, type_, head.code):
        await check_limits_of_start(connection, each, None)


async def check_unchanged(connection: AsyncConnection, error: ErrorCommand) -> None:
    """Refuse an error command that is asked for again as it was, if its projects may not use what it needs.

    What is gone or cannot be read is left to the master. Raises `Refused`.
    """
    if error.type in REVIVING and error.workflow_instance_id is not None:
        await check_limits_of_reruns(connection, [WorkflowInstanceId(error.workflow_instance_id)])
    if error.workflow_code is not None:
        code = WorkflowCode(error.workflow_code)
        head = (await definitions.heads(connection, [code])).get(code)
        if head is not None:
            await check_limits_of_retry(connection, error, error.type, head, error.workflow_version, error.worker_group)


def params_of(error: ErrorCommand) -> dict[str, Any]:
    """The parameters that a command had; none if they cannot be read, which may be why it was refused."""
    try:
        found = json.loads(error.params or "{}", parse_float=str)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
