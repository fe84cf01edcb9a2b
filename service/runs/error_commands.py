"""The operations about commands that could not be handled: list them, ask again as it was or corrected, drop them.

Each needs the right in the project of the workflow that the command names; one without a workflow is an admin's.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field

from dao.accounts import audit
from dao.commands import error_commands
from dao.commands.rows import ErrorCommand
from model.accounts.rights import Right
from model.errors import Refused
from model.ids import CommandId
from model.parameters.secret_values import without_sealed
from model.runs.command_moves import HALTING, REVIVING, STARTING
from service.call import Call, Change, Subject
from service.dependents import check_dependents
from service.fields import Answer, Asked, GivenId, Id, WrittenId
from service.operation import operation
from service.paging import LIMIT_MAX, PageOf, PageQuery, page_of
from service.runs import retry_check
from service.runs.command_asked import CommandAsked, once_taken
from service.runs.corrected_command import CorrectedCommand, corrected, corrections_of
from service.runs.requests import WaitQuery
from service.runs.retry_check import Touched

if TYPE_CHECKING:
    from dao.commands.error_commands import Corrections

TAG, KIND = "error-commands", "error-command"
NAME_MAX = 100
"""The type of a command that was inserted by hand may be a text of any length."""
_TYPES = STARTING | REVIVING | HALTING


class ErrorCommandAnswer(Answer, ErrorCommand, without={"project_of_run"}):
    """A refused command with all that it asked for, and the reason. Sealed values in `params` are masked.

    `created_at` is a text, since a row that was inserted by hand may have any date. `master` is the epoch of the master
    that refused it.
    """

    workflow_code: WrittenId | None = None
    workflow_instance_id: WrittenId | None = None

    @classmethod
    def of(cls, error: ErrorCommand) -> ErrorCommandAnswer:
        found = cls.model_validate(error)
        project = error.project or error.project_of_run
        return found.model_copy(update={"params": without_sealed(error.params), "project": project})


class ErrorCommandIds(Asked):
    """Several error commands: all are handled in one transaction."""

    ids: Annotated[Sequence[GivenId], Field(min_length=1, max_length=LIMIT_MAX)]


class RetryCommands(ErrorCommandIds):
    """Several error commands to ask for again. One that cannot be undoes all, unless `skip_refused`."""

    skip_refused: Annotated[bool, Field(description="leave those that cannot be asked for again, and say why")] = False


class RetriedAnswer(Answer):
    """The error command with the number `id` is gone; the new command has the number `command_id`."""

    id: Id
    command_id: Id


class RetriedCommand(CommandAsked):
    """The same of one, with what became of the new command."""

    id: Id


class SkippedAnswer(Answer):
    """An error command that is still there, and why."""

    id: Id
    reason: str


class RetriedCommands(Answer):
    """What was asked for again, and what was not; oldest first."""

    retried: Sequence[RetriedAnswer]
    refused: Sequence[SkippedAnswer]


class DroppedCommands(Answer):
    """The error commands that are gone."""

    dropped: Sequence[Id]


@operation("GET", "/error-commands", Right.VIEW, TAG)
async def list_error_commands(call: Call, query: PageQuery) -> PageOf[ErrorCommandAnswer]:
    """List the commands that could not be handled, newest first, each with the reason."""
    visible = call.visible()
    found = await call.read(error_commands.error_commands, query.limit + 1, query.after, visible)
    return page_of(found, query.limit, ErrorCommandAnswer.of, lambda each: each.id)


@operation("GET", "/error-commands/{id}", Right.VIEW, TAG)
async def get_error_command(call: Call, id: Id) -> ErrorCommandAnswer:
    """Show a command that could not be handled."""
    [found] = await _read(call, [id])
    return ErrorCommandAnswer.of(found.error)


@operation("POST", "/error-commands/{id}/retry", Right.OPERATE, TAG, status=202, completes=once_taken)
async def retry_error_command(call: Call, id: Id, body: CorrectedCommand, query: WaitQuery) -> RetriedCommand:
    """Ask again for what an error command asked for, as it was or corrected; the error command is deleted."""
    [found] = await _read(call, [id], retried=True)
    error = found.error
    if body.type is not None and body.type not in _TYPES:
        raise Refused(f"type: people do not ask for {body.type}; there are {', '.join(sorted(_TYPES))}")
    async with call.changing(*_subjects(found)) as change:
        corrections = await corrections_of(call, change.connection, error, body)
        new = await error_commands.retry_error_command(change.connection, error.id, corrections)
        said = body.model_dump(mode="json", exclude_defaults=True)
        change.before = _said(error)
        change.after = {"command": str(new), **said, **({"params": sorted(body.params)} if body.params else {})}
        change.answer = RetriedCommand(id=id, command_id=new)
        await _record_corrected(call, change, found, corrections)
    return await once_taken(call, change.answered(RetriedCommand), query)


@operation("DELETE", "/error-commands/{id}", Right.OPERATE, TAG, status=204)
async def drop_error_command(call: Call, id: Id) -> None:
    """Delete an error command; the history still contains it."""
    await _drop(call, await _read(call, [id]))


@operation("POST", "/error-commands:retry", Right.OPERATE, TAG, status=202)
async def retry_error_commands(call: Call, body: RetryCommands) -> RetriedCommands:
    """Ask again for what several error commands asked for, each as it was."""
    found = await _read(call, body.ids, retried=True)
    retried: list[RetriedAnswer] = []
    refused: list[SkippedAnswer] = []
    after: dict[CommandId, Mapping[str, Any]] = {}
    async with call.changing(*_subjects(found[0])) as change:
        for error in (each.error for each in found):
            try:
                async with change.connection.savepoint():
                    await retry_check.check_unchanged(change.connection, error)
                    new = await error_commands.retry_error_command(change.connection, error.id)
            except Refused as reason:
                if not body.skip_refused:
                    raise
                refused.append(SkippedAnswer(id=error.id, reason=str(reason)))
                after[error.id] = {"refused": str(reason)}
            else:
                retried.append(RetriedAnswer(id=error.id, command_id=new))
                after[error.id] = {"command": str(new)}
        await _record(call, change, found, after)
        change.answer = RetriedCommands(retried=retried, refused=refused)
    return change.answered(RetriedCommands)


@operation("POST", "/error-commands:drop", Right.OPERATE, TAG)
async def drop_error_commands(call: Call, body: ErrorCommandIds) -> DroppedCommands:
    """Delete several error commands; the history still contains them."""
    return await _drop(call, await _read(call, body.ids))


async def _drop(call: Call, found: Sequence[Touched]) -> DroppedCommands:
    async with call.changing(*_subjects(found[0])) as change:
        ids = [each.error.id for each in found]
        await error_commands.drop_error_commands(change.connection, ids)
        await _record(call, change, found, {})
        change.answer = None if call.operation is drop_error_command else DroppedCommands(dropped=ids)
    return DroppedCommands(dropped=ids)


async def _read(call: Call, ids: Collection[int], *, retried: bool = False) -> list[Touched]:
    """These error commands, oldest first, all of which the caller may handle. Raises `NotFound`, `Forbidden`."""
    found = await call.read(retry_check.touched, ids, retried=retried)
    for each in found:
        for project in each.own_projects:
            call.permit(project)
        check_dependents(call, each.dependents)
    return found


def _subjects(found: Touched) -> list[Subject]:
    """One for each project that it touches, so that each one's audit has it."""
    error = found.error
    return [Subject(KIND, error.id, project, error.type[:NAME_MAX]) for project in found.projects]


def _said(error: ErrorCommand) -> dict[str, Any]:
    return {"type": error.type[:NAME_MAX], "reason": error.reason}


async def _record_corrected(call: Call, change: Change, found: Touched, corrections: Corrections) -> None:
    """An audit row for each project that only the corrected command touches."""
    command = corrected(found.error, corrections)
    projects = await retry_check.projects_started(change.connection, command)
    added = [Subject(KIND, command.id, each, command.type[:NAME_MAX]) for each in projects - set(found.projects)]
    await audit.insert(change.connection, [call.entry(each, change) for each in added])


async def _record(
    call: Call, change: Change, found: Sequence[Touched], after: Mapping[CommandId, Mapping[str, Any]]
) -> None:
    """The audit rows of each: those of the first are the change's."""
    first = found[0].error
    change.before, change.after = _said(first), after.get(first.id)
    rows = [
        call.caller.entry(
            call.operation.name,
            subject.kind,
            subject.id,
            subject.name,
            project=subject.project,
            before=_said(each.error),
            after=after.get(each.error.id),
        )
        for each in found[1:]
        for subject in _subjects(each)
    ]
    await audit.insert(change.connection, rows)
