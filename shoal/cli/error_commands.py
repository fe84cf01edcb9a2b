"""`shoal queue errors/retry/delete`: commands that could not be handled."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated

import typer

from model.choices import FailureStrategy, Priority
from model.errors import Refused
from model.runs.command_moves import CommandType
from service import paging as pages
from service.runs import corrected_command, error_commands, requests
from service.words import counted
from shoal.cli import output
from shoal.cli.invocation import Invocation
from shoal.cli.listing import Field, Listing
from shoal.cli.values import Params, read_values
from shoal.cli.verbs import verb
from shoal.clients.client import Client
from shoal.clients.pages import EVERYTHING, all_items

TYPE_LENGTH_MAX = 40
ERRORS: Listing[error_commands.ErrorCommandAnswer] = Listing(
    (
        Field("COMMAND", lambda each: each.id, right=True),
        Field("TYPE", lambda each: each.type[:TYPE_LENGTH_MAX], keep=2),
        Field("WORKFLOW", lambda each: each.workflow_code or "-", keep=1, right=True),
        Field("REFUSED", lambda each: each.refused_at, keep=3, right=True),
        Field("BY", lambda each: each.created_by or "-", keep=0),
        Field("REASON", lambda each: each.reason, sentence=True),
    ),
    none="There is no error command.",
    first="What waits: shoal queue   What ran: shoal runs",
    then=lambda first: f"When it is fixed: shoal queue retry {first.id}   Delete it: shoal queue delete {first.id}",
)


def add_to(group: typer.Typer) -> None:
    verb(group, "shoal queue errors", "shoal queue errors --limit 100")(errors)
    verb(group, "shoal queue retry 17", "shoal queue retry --all", "shoal queue retry 17 -p day=2026-01-31")(retry)
    verb(group, "shoal queue delete 17", "shoal queue delete 17 18 19", "shoal queue delete --all")(delete)


async def errors(
    call: Invocation,
    limit: Annotated[int, typer.Option(min=1, max=10_000, help="At most this many, newest first.")] = 20,
) -> None:
    """List the commands that could not be handled, newest first, each with the reason."""
    async with call.client() as client:
        await ERRORS.show(call, client, await _error_commands(client, limit))


@dataclass(frozen=True)
class Correction:
    """The changes in a new command, by the names of the API."""

    type: Annotated[
        CommandType | None, typer.Option("--type", case_sensitive=False, help="Instead of the one that was given.")
    ] = None
    workflow_code: Annotated[int | None, typer.Option(min=1, help="The code of the workflow that is meant.")] = None
    version: Annotated[int | None, typer.Option(min=1, help="Another version of the workflow.")] = None
    priority: Annotated[Priority | None, typer.Option(case_sensitive=False, help="Another one.")] = None
    failure_strategy: Annotated[
        FailureStrategy | None, typer.Option("--on-failure", case_sensitive=False, help="Another one.")
    ] = None
    worker_group: Annotated[str | None, typer.Option(help="Another one.")] = None
    environment: Annotated[str | None, typer.Option(help="Another one.")] = None


async def retry(
    call: Invocation,
    correction: Correction,
    commands: Annotated[list[int] | None, typer.Argument(metavar="ID", min=1, help="Error commands.")] = None,
    everything: Annotated[bool, typer.Option("--all", help="All error commands.")] = False,
    param: Params = None,
    without_param: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Without this value; may be repeated.")
    ] = None,
) -> None:
    """Retry with a new command, as it was, or one of them corrected by the options. Fix the cause first."""
    if bool(commands) == everything:
        raise Refused("say which error commands to retry: their ids, or --all")
    params: dict[str, str | None] = {**dict.fromkeys(without_param or ()), **read_values(param or ())}
    corrected = corrected_command.CorrectedCommand.read(params=params, **vars(correction))
    refused: Sequence[error_commands.SkippedAnswer] = ()
    async with call.client() as client:
        if corrected == corrected_command.CorrectedCommand.read():
            asked, refused = await _retried(client, commands)
        elif commands is None or len(commands) != 1:
            raise Refused("a correction is of one error command; name one")
        else:
            retried = await client.ask(error_commands.retry_error_command, commands[0], corrected, requests.WaitQuery())
            asked = [error_commands.RetriedAnswer(id=retried.id, command_id=retried.command_id)]
    if output.printed_json(call, asked):
        return
    for each in asked:
        output.say(f"Error command {each.id} was retried as command {each.command_id}.")
    for skipped in refused:
        output.say(skipped.reason)
    if not asked and not refused:
        output.say("There is no error command.")
    output.hint("What became of them: shoal queue errors   shoal runs")


async def delete(
    call: Invocation,
    commands: Annotated[list[int] | None, typer.Argument(metavar="ID", min=1, help="Error commands.")] = None,
    everything: Annotated[bool, typer.Option("--all", help="All error commands.")] = False,
) -> None:
    """Delete error commands. The history still contains them."""
    if bool(commands) == everything:
        raise Refused("say which error commands to delete: their ids, or --all")
    deleted: list[int] = []
    async with call.client() as client:
        for ids in _pages(commands or [each.id for each in await _error_commands(client)]):
            deleted += (
                await client.ask(error_commands.drop_error_commands, error_commands.ErrorCommandIds.read(ids=ids))
            ).dropped
    said = f"Deleted {counted(len(deleted), 'error command')}."
    output.print_result(call, [str(id_) for id_ in deleted], said, "What is left: shoal queue errors")


async def _retried(
    client: Client, commands: Sequence[int] | None
) -> tuple[list[error_commands.RetriedAnswer], list[error_commands.SkippedAnswer]]:
    """Retry these, or all, in the order in which they were created."""
    asked: list[error_commands.RetriedAnswer] = []
    refused: list[error_commands.SkippedAnswer] = []
    for ids in _pages(commands or [each.id for each in await _error_commands(client)]):
        body = error_commands.RetryCommands.read(ids=ids, skip_refused=commands is None)
        found = await client.ask(error_commands.retry_error_commands, body)
        asked += found.retried
        refused += found.refused
    return asked, refused


async def _error_commands(client: Client, limit: int = EVERYTHING) -> list[error_commands.ErrorCommandAnswer]:
    """The error commands, newest first; at most `limit`."""
    return await all_items(lambda page: client.ask(error_commands.list_error_commands, page), pages.PageQuery(), limit)


def _pages(ids: Sequence[int]) -> Iterator[list[int]]:
    """Batches of the size that one transaction handles, oldest first."""
    ordered = sorted(ids)
    return (ordered[at : at + pages.LIMIT_MAX] for at in range(0, len(ordered), pages.LIMIT_MAX))
