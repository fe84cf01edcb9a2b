"""`shoal task restart` and `shoal worker rebalance`: streams are started again, or moved to other workers."""

from __future__ import annotations

from typing import Annotated

import typer

from service.runs import streams
from service.words import counted, plain
from shoal.cli import output
from shoal.cli.command_result import name_of
from shoal.cli.invocation import Invocation
from shoal.cli.named import run_named
from shoal.cli.values import AnyProject, RunName
from shoal.cli.verbs import verb

Tasks = Annotated[list[str] | None, typer.Option("--task", help="Only this stream; repeat for more.")]
Group = Annotated[str | None, typer.Argument(help="A worker group; else all that have streams.", metavar="[GROUP]")]


def add_to_tasks(group: typer.Typer) -> None:
    verb(group, "shoal task restart @last", "shoal task restart crawl --task news")(restart)


def add_to_workers(group: typer.Typer) -> None:
    verb(group, "shoal worker rebalance", "shoal worker rebalance default")(rebalance)


async def restart(call: Invocation, run: RunName, project: AnyProject = None, task: Tasks = None) -> None:
    """Restart the streams of a run one after the other: the next when the former is ready again."""
    async with call.client() as client:
        found = await run_named(client, run, project)
        answer = await client.ask(streams.restart_streams, found.id, streams.RestartStreams(tasks=task or ()))
    names = ", ".join(map(plain, answer.tasks[:5])) + (" ..." if len(answer.tasks) > 5 else "")
    order = ", one after the other" if len(answer.tasks) > 1 else ""
    sentence = f"{name_of(found)} restarts {counted(len(answer.tasks), 'stream')}{order}: {names}."
    output.print_result(call, output.answer_fields(answer), sentence, f"How far it is: shoal why {found.id}")


async def rebalance(call: Invocation, group: Group = None) -> None:
    """Move streams from workers that have many to workers of the same group that have few, a few at a time."""
    answer = await call.ask(streams.rebalance_streams, streams.Rebalance(worker_group=group))
    groups = ", ".join(map(plain, answer.worker_groups))
    if answer.worker_groups:
        sentence = f"The {counted(answer.streams, 'stream')} of {groups} are spread evenly, a few at a time."
    else:
        sentence = "There are no streams."
    see = "How many tasks each worker has: shoal worker list"
    output.print_result(call, output.answer_fields(answer), sentence, see)
