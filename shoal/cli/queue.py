"""`shoal queue`: what waits, for a master or for a worker; its verbs are about commands that failed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer

from service.cluster import command_queue, members
from service.words import counted, duration
from shoal.cli import output
from shoal.cli.invocation import Invocation
from shoal.cli.output import Column
from shoal.cli.verbs import default_verb


def add_to(app: typer.Typer) -> None:
    """Add the group `queue`, which lists what waits when it is given no verb."""
    default_verb(
        app,
        "shoal queue",
        "shoal queue --limit 100",
        beside=dict.fromkeys(("errors", "retry", "delete"), "error_commands"),
    )(queue)


async def queue(
    call: Invocation, limit: Annotated[int, typer.Option(min=1, max=10_000, help="At most this many commands.")] = 20
) -> None:
    """List what waits: commands for masters, tasks for worker groups; its verbs show what failed, and retry it."""
    waiting = await call.ask(command_queue.get_queue, command_queue.QueueQuery(limit=limit))
    if call.as_json or not (waiting.commands or waiting.worker_groups):
        others = "What ran: shoal runs   Start something: shoal run NAME"
        output.print_result(call, output.answer_fields(waiting), "Nothing waits.", others)
        return
    _print_commands(waiting)
    _print_groups(waiting)
    if waiting.commands:
        output.hint(f"Why one waits: shoal why command {waiting.commands[0].id}")
    else:
        output.hint("Who runs them: shoal worker list   What runs: shoal runs --state running_execution")


def _print_commands(waiting: command_queue.QueueAnswer) -> None:
    if not waiting.total:
        output.say(f"{_why_none(waiting)}, so no command is taken.")
    else:
        count = sum(each.waiting for each in waiting.slots)
        more = "" if waiting.is_complete else "more than "
        output.say(f"Waiting for a master: {more}{counted(count, 'command')}.")
    if not waiting.commands:
        return
    slots, commands = waiting.slots, waiting.commands
    output.table(
        Column("SLOT", [each.slot for each in slots], right=True),
        Column("MASTER", [each.master or "-" for each in slots]),
        Column("WAITING", [each.waiting for each in slots], right=True),
        Column("OLDEST", [duration(each.oldest_s) for each in slots], right=True),
        indent=2,
    )
    output.table(
        Column("COMMAND", [each.id for each in commands], right=True),
        Column("TYPE", [each.type for each in commands]),
        Column("WORKFLOW", [_workflow(each) for each in commands], keep=3),
        Column("PRIORITY", [each.priority or "-" for each in commands], keep=1),
        Column("SLOT", ["-" if each.slot is None else each.slot for each in commands], right=True, keep=4),
        Column("AGE", [duration(each.age_s) for each in commands], right=True, keep=2),
        Column("BY", [each.created_by for each in commands], keep=0),
        indent=2,
    )


def _why_none(waiting: command_queue.QueueAnswer) -> str:
    if not waiting.masters:
        return "No master is alive"
    return "All masters are draining" if waiting.drained_masters >= waiting.masters else "No master has a slot yet"


def _print_groups(waiting: command_queue.QueueAnswer) -> None:
    count = sum(each.waiting for each in waiting.worker_groups)
    output.say(f"Waiting for a worker: {counted(count, 'task')}.")
    output.table(*group_columns(waiting.worker_groups), indent=2)


def group_columns(groups: Sequence[members.WorkerGroupAnswer]) -> list[Column]:
    """What waits for each worker group, and who takes it."""
    return [
        Column("GROUP", [each.worker_group for each in groups]),
        Column("WAITING", [each.waiting for each in groups], right=True),
        Column("OLDEST", [duration(each.oldest_s) for each in groups], right=True, keep=3),
        Column("RUNNING", [each.running for each in groups], right=True, keep=2),
        Column("WORKERS", [_serving(each) for each in groups], right=True, keep=4),
    ]


def _serving(group: members.WorkerGroupAnswer) -> str:
    counts = ((group.busy_workers, "BUSY"), (group.drained_workers, "DRAINING"))
    notes = ", ".join(f"{count} {word}" for count, word in counts if count)
    return f"{group.workers}{f' ({notes})' if notes else ''}"


def _workflow(command: command_queue.WaitingCommandAnswer) -> str:
    if command.workflow is None and command.workflow_code is None:
        return "-"
    return command.workflow or f"code {command.workflow_code}"
