"""`shoal log`: prints the log of a task. After a lost connection `shoal/clients/remote.py` goes on where it was."""

from __future__ import annotations

import sys
from contextlib import aclosing
from typing import Annotated

import typer

from service import byte_stream as stream
from service.logs import log_source
from service.runs import requests, showing
from service.words import plain
from shoal.cli import output
from shoal.cli.completion import complete_run
from shoal.cli.invocation import Invocation
from shoal.cli.values import AnyProject
from shoal.cli.verbs import verb
from shoal.terminal import harmless


def add_to(app: typer.Typer) -> None:
    """Add the verb."""
    verb(app, "shoal log 1042/greet -f", "shoal log 88123")(log)


async def log(
    call: Invocation,
    task: Annotated[
        str, typer.Argument(metavar="TASK", help="A task instance's id, or RUN/name.", autocompletion=complete_run)
    ],
    project: AnyProject = None,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Follow the log until the task has ended.")] = False,
) -> None:
    """Print the log of a task, from the worker that ran it.

    For a task that waits for its next attempt, it is the log of the last one; with --follow that of the next. For a
    task that stands for other runs, it is the log of the child's task that failed or runs. For a SWITCH or CONDITIONS
    task, which no worker runs, it is the decision and the reason.
    """
    whole = bytearray()
    async with call.client() as client:
        named = await client.ask(showing.find_task_instance, requests.TaskReference.read(name=task, project=project))
        found = await client.ask(log_source.find_log, named.id, log_source.LogSourceQuery(begun=not follow))
        for step in found.way:
            sys.stderr.write(f"shoal: {plain(step)}\n")
        async with aclosing(
            client.stream(log_source.read_log, found.task_instance_id, stream.StreamQuery(follow=follow))
        ) as parts:
            async for part in parts:
                if call.as_json:
                    whole += part
                else:
                    sys.stdout.buffer.write(harmless(part) if sys.stdout.isatty() else part)
                    sys.stdout.buffer.flush()
    if call.as_json:
        output.print_json({"task_instance_id": str(found.task_instance_id), "log": whole.decode(errors="replace")})
