"""`shoal errors`: list, retry and drop commands that could not be handled."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from shoal.cli.invocation import Invocation
from shoal.cli.verbs import verb

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncConnection

    from model.ids import CommandId

PAGE = 500
TYPE_LENGTH_MAX = 40


def add_to(app: typer.Typer) -> None:
    """Add the group `errors`, which lists when it is given no verb."""
    group = typer.Typer(help="Commands that could not be handled, with the reason.")
    verb(group, "shoal errors", "shoal errors --limit 100", default=True)(errors)
    verb(group, "shoal errors retry 17", "shoal errors retry --all")(retry)
    verb(group, "shoal errors drop 17", "shoal errors drop 17 18 19")(drop)
    app.add_typer(group, name="errors")


async def errors(
    call: Invocation,
    limit: Annotated[int, typer.Option(min=1, max=10_000, help="At most this many, newest first.")] = 20,
) -> None:
    """List the commands that could not be handled, newest first, each with the reason."""
    from dao.commands.error_commands import error_commands
    from service.words import when
    from shoal.cli import output
    from shoal.cli.output import Column

    async with call.reading() as reading:
        found = await error_commands(reading.connection, limit)
    if call.as_json or not found:
        fields = [output.json_fields({**asdict(each), "master": str(each.master)}) for each in found]
        others = "What waits: shoal queue   What ran: shoal runs"
        output.print_result(call, fields, "There is no error command.", others)
        return
    output.table(
        Column("COMMAND", [each.id for each in found], right=True),
        Column("TYPE", [each.type[:TYPE_LENGTH_MAX] for each in found], keep=2),
        Column("WORKFLOW", [each.workflow_code or "-" for each in found], keep=1, right=True),
        Column("REFUSED", [when(each.refused_at, reading.now, utc=call.utc) for each in found], keep=3, right=True),
        Column("BY", [each.created_by or "-" for each in found], keep=0),
        Column("REASON", [each.reason for each in found], sentence=True),
    )
    output.hint(f"When it is fixed: shoal errors retry {found[0].id}   Drop it: shoal errors drop {found[0].id}")


async def retry(
    call: Invocation,
    commands: Annotated[list[int] | None, typer.Argument(metavar="ID", min=1, help="Error commands.")] = None,
    everything: Annotated[bool, typer.Option("--all", help="All error commands.")] = False,
) -> None:
    """Retry with a new command. Fix the cause first."""
    from dao.commands.error_commands import retry_error_command
    from model.errors import Refused
    from model.ids import CommandId
    from shoal.cli import output

    if bool(commands) == everything:
        raise Refused("say which error commands to retry: their ids, or --all")
    asked: list[tuple[CommandId, CommandId]] = []
    refused: list[str] = []
    async with call.reading() as reading:
        wanted = [CommandId(each) for each in commands or ()]
        if everything:
            wanted = await _all(reading.connection)
        for id_ in wanted:
            try:
                async with reading.database.writing() as connection:
                    asked.append((id_, await retry_error_command(connection, id_)))
            except Refused as error:
                if not everything:
                    raise
                refused.append(str(error))
    if call.as_json:
        output.print_json([output.json_fields({"id": old, "command_id": new}) for old, new in asked])
        return
    for old, new in asked:
        output.say(f"Error command {old} is asked for again as command {new}.")
    for sentence in refused:
        output.say(sentence)
    if not asked and not refused:
        output.say("There is no error command.")
    output.hint("What became of them: shoal errors   shoal runs")


async def drop(
    call: Invocation, commands: Annotated[list[int], typer.Argument(metavar="ID", min=1, help="Error commands.")]
) -> None:
    """Delete error commands. The history still contains them."""
    from dao.commands.error_commands import drop_error_command
    from model.ids import CommandId
    from service.words import counted
    from shoal.cli import output

    async with call.reading() as reading, reading.database.writing() as connection:
        for id_ in commands:
            await drop_error_command(connection, CommandId(id_))
    said = f"Dropped {counted(len(commands), 'error command')}."
    output.print_result(call, [str(id_) for id_ in commands], said, "What is left: shoal errors")


async def _all(connection: AsyncConnection) -> list[CommandId]:
    """The ids of all error commands, in the order in which they were created."""
    from dao.commands.error_commands import error_commands

    found: list[CommandId] = []
    while page := [each.id for each in await error_commands(connection, PAGE, found[-1] if found else None)]:
        found += page
    return found[::-1]
