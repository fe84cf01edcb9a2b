"""`shoal log`: prints the log of a task. After a lost connection `shoal/clients/remote.py` continues it."""

from __future__ import annotations

import sys
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from typing import Annotated

import typer

from service import byte_stream as stream
from service.logs import log_source, value_source
from service.runs import requests, showing
from service.words import plain
from shoal.cli import output
from shoal.cli.completion import complete_run
from shoal.cli.invocation import Invocation
from shoal.cli.values import AnyProject
from shoal.cli.verbs import verb
from shoal.terminal import harmless


def add_to(app: typer.Typer) -> None:
    verb(app, "shoal log 1042/greet -f", "shoal log 88123")(log)


async def log(
    call: Invocation,
    task: Annotated[
        str, typer.Argument(metavar="TASK", help="A task instance's id, or RUN/name.", autocompletion=complete_run)
    ],
    project: AnyProject = None,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Follow the log until the task has ended.")] = False,
    value: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Instead of the log, a value that the task gave, or a path into one."),
    ] = None,
) -> None:
    """Print the log of a task, from the worker that ran it.

    For a task that waits for its next attempt, it is the log of the last one; with --follow that of the next. For a
    task that stands for other runs, it is the log of the child's task that failed or runs. For a SWITCH or CONDITIONS
    task, which no worker runs, it is the decision and the reason.
    """
    async with call.client() as client:
        named = await client.ask(showing.find_task_instance, requests.TaskReference.read(name=task, project=project))
        if value is not None:
            query = value_source.ValueQuery.read(name=value)
            parts = client.stream(value_source.read_value, named.id, query)
            await _print(call, parts, {"task_instance_id": str(named.id), "name": value}, "value")
            return
        found = await client.ask(log_source.find_log, named.id, log_source.LogSourceQuery(begun=not follow))
        for step in found.way:
            sys.stderr.write(f"shoal: {plain(step)}\n")
        parts = client.stream(log_source.read_log, found.task_instance_id, stream.StreamQuery(follow=follow))
        await _print(call, parts, {"task_instance_id": str(found.task_instance_id)}, "log")


async def _print(call: Invocation, parts: AsyncGenerator[bytes], about: Mapping[str, str], name: str) -> None:
    """Print the parts as they arrive, or all of them in JSON as a text with this name, with `about`."""
    whole = bytearray()
    async with aclosing(parts):
        async for part in parts:
            if call.as_json:
                whole += part
            else:
                sys.stdout.buffer.write(harmless(part) if sys.stdout.isatty() else part)
                sys.stdout.buffer.flush()
    if call.as_json:
        output.print_json({**about, name: whole.decode(errors="replace")})
