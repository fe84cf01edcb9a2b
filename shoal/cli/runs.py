"""The verbs about runs: `runs`, `tasks`, `show`, `log`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from model.states import TaskState
from shoal.cli.completion import complete_run
from shoal.cli.filters import Filters, RunFilters
from shoal.cli.invocation import Invocation
from shoal.cli.values import AnyProject
from shoal.cli.verbs import verb

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from service.runs.answers import AttemptAnswer, RunAnswer

RunName = Annotated[
    str,
    typer.Argument(metavar="RUN", help="Its id, @last, @failed, or a workflow's name.", autocompletion=complete_run),
]


def add_to(app: typer.Typer) -> None:
    """Add these verbs."""
    verb(app, "shoal runs", "shoal runs --state failure --since 1d", "shoal runs --trigger schedule --q timeout")(runs)
    verb(app, "shoal tasks --state failure --since 1d", "shoal tasks --worker w1 --state running_execution")(tasks)
    verb(app, "shoal show @last", "shoal show hello", "shoal show 1042")(show)
    verb(app, "shoal log 1042/greet -f", "shoal log 88123")(log)


async def runs(
    call: Invocation,
    filters: RunFilters,
    limit: Annotated[int, typer.Option(min=1, max=100_000, help="At most this many, newest first.")] = 20,
    children: Annotated[bool, typer.Option("--children", help="Also show child runs, each with its parent.")] = False,
) -> None:
    """List runs, newest first.

    Child runs (of SUB_PROCESS and DYNAMIC tasks) only with --children, --workflow, --q, --serial-key or
    --trigger parent.
    """
    from service.cluster.clock import read_clock
    from service.pages import LIMIT_MAX
    from service.runs.listing import list_runs
    from service.runs.requests import RunQuery
    from service.words import counted, plain
    from shoal.cli import output

    given = filters.given()
    asked = RunQuery.read(**given, children=children, count_children=True)
    async with call.client() as client:
        now = (await client.ask(read_clock)).now
        page = await client.ask(list_runs, asked.model_copy(update={"limit": min(limit, LIMIT_MAX)}))
        runs, refused, hidden_count = list(page.items), page.refused_backfills, page.hidden_children
        while page.next_cursor is not None and len(runs) < limit:
            more: dict[str, object] = {
                "limit": min(limit - len(runs), LIMIT_MAX),
                "cursor": page.next_cursor,
                "count_children": False,
            }
            page = await client.ask(list_runs, asked.model_copy(update=more))
            runs += page.items
    hidden = f"{counted(hidden_count, 'child run')} not shown: the same with --children" if hidden_count else ""
    if call.as_json or not runs:
        none = "No run matches." if given or hidden else "There is no run yet."
        how = hidden or "Start one: shoal run NAME   What can be started: shoal workflow list"
        output.print_result(call, [output.answer_fields(run) for run in runs], none, how)
        return
    _print_runs(call, runs, now)
    for each in refused:
        when_, left = (each.dates[0], len(each.dates) - 1) if each.dates else ("its next date", 0)
        after = f"; {counted(left, 'date')} after it" if left else ""
        output.say(
            f"A backfill of {plain(each.workflow or '')} stopped: its command for {plain(when_)} was refused: "
            f"{plain(each.reason)}{after}; go on: shoal errors retry {each.command_id}"
        )
    if hidden:
        output.say(hidden)
    first = runs[0].id
    output.hint(f"See one: shoal show {first}   Why it does not move: shoal why {first}")


def _print_runs(call: Invocation, found: Sequence[RunAnswer], now: datetime) -> None:
    from service.words import duration, when
    from shoal.cli import output
    from shoal.cli.output import Column
    from shoal.cli.run_page import run_time, said_why

    times = [run_time(run, utc=call.utc) for run in found]
    parents = ["/".join(str(part) for part in (run.parent_id, run.parent_task) if part) or "-" for run in found]
    has_projects = len({run.project for run in found}) > 1
    output.table(
        Column("RUN", [run.id for run in found], right=True),
        *([Column("PARENT", parents)] if any(run.parent_id for run in found) else []),
        *([Column("PROJECT", [run.project or "-" for run in found], keep=6)] if has_projects else []),
        Column("WORKFLOW", [run.workflow or f"code {run.workflow_code}" for run in found], keep=6),
        Column("VERSION", [run.version for run in found], keep=1, right=True),
        Column("STATE", [output.state(run.state) for run in found]),
        *([Column("FOR", [time or "-" for time in times], keep=5)] if any(times) else []),
        Column("STARTED", [when(run.started_at, now, utc=call.utc) for run in found], keep=4, right=True),
        Column("TOOK", [duration(run.took_s) for run in found], keep=3, right=True),
        Column("MASTER", [run.master or "-" for run in found], keep=0),
        Column("WHY", [said_why(run) for run in found], keep=2, sentence=True),
    )


async def tasks(
    call: Invocation,
    filters: Filters,
    state: Annotated[
        list[TaskState] | None, typer.Option(case_sensitive=False, help="Only attempts in this state; may be repeated.")
    ] = None,
    type_: Annotated[
        list[str] | None, typer.Option("--type", help="Only of this task type, such as SHELL; may be repeated.")
    ] = None,
    name: Annotated[str | None, typer.Option(help="Only of tasks with this name.")] = None,
    worker: Annotated[str | None, typer.Option(help="Only of this worker: its id, address or name.")] = None,
    worker_group: Annotated[str | None, typer.Option(help="Only of this worker group.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=100_000, help="At most this many, newest first.")] = 20,
) -> None:
    """List attempts of tasks of all runs, newest first."""
    from service.cluster.clock import read_clock
    from service.runs.attempts import list_task_instances
    from service.runs.requests import TaskQuery
    from shoal.cli import output
    from shoal.clients.pages import all_items

    asked = TaskQuery.read(
        **filters.given(),
        state=state,
        type=[each.upper() for each in type_] if type_ else None,
        name=name,
        worker=worker,
        worker_group=worker_group,
    )
    async with call.client() as client:
        now = (await client.ask(read_clock)).now
        found = await all_items(
            lambda size, cursor: client.ask(
                list_task_instances, asked.model_copy(update={"limit": size, "cursor": cursor})
            ),
            limit,
        )
    if call.as_json or not found:
        how = "See those of a run: shoal show RUN"
        output.print_result(call, [output.answer_fields(each) for each in found], "No attempt of a task matches.", how)
        return
    _print_tasks(call, found, now)
    output.hint(f"Its log: shoal log {found[0].id}   Its run: shoal show {found[0].run_id}")


def _print_tasks(call: Invocation, found: Sequence[AttemptAnswer], now: datetime) -> None:
    from service.words import duration, plain, when
    from shoal.cli import output
    from shoal.cli.output import Column

    times = [when(each.started_at, now, utc=call.utc) if each.started_at else "-" for each in found]
    output.table(
        Column("ID", [each.id for each in found], right=True),
        Column("RUN", [each.run_id for each in found], right=True),
        Column("WORKFLOW", [each.workflow or f"code {each.workflow_code}" for each in found], keep=4),
        Column("TASK", [each.name for each in found]),
        Column("TYPE", [each.type for each in found], keep=1),
        Column("STATE", [output.state(each.state) for each in found]),
        Column("STARTED", times, keep=3, right=True),
        Column("TOOK", [duration(each.took_s) if each.took_s is not None else "-" for each in found], right=True),
        Column("WORKER", [each.worker or "-" for each in found], keep=0),
        Column("WHY", [plain(each.reason or "") for each in found], keep=2, sentence=True),
    )


async def show(
    call: Invocation,
    run: RunName,
    project: AnyProject = None,
    everything: Annotated[bool, typer.Option("--all", help="Also show attempts that no longer count.")] = False,
) -> None:
    """Show one run: its tasks, every attempt, and the tree of what waits for what."""
    from service.cluster.clock import read_clock
    from service.runs.requests import RunReference
    from service.runs.showing import find_run, get_run
    from shoal.cli import output, run_page

    async with call.client() as client:
        now = (await client.ask(read_clock)).now
        found = await client.ask(find_run, RunReference.read(name=run, project=project))
        page = await client.ask(get_run, found.id)
    if call.as_json:
        output.print_json(output.answer_fields(page))
        return
    run_page.print_run(page, now, utc=call.utc, everything=everything)


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
    import sys
    from contextlib import aclosing

    from service.runs.log_source import LogSourceQuery, find_log, read_log
    from service.runs.requests import TaskReference
    from service.runs.showing import find_task_instance
    from service.stream import StreamQuery
    from service.words import plain
    from shoal.cli import output
    from shoal.terminal import harmless

    whole = bytearray()
    async with call.client() as client:
        named = await client.ask(find_task_instance, TaskReference.read(name=task, project=project))
        found = await client.ask(find_log, named.id, LogSourceQuery(begun=not follow))
        for step in found.way:
            sys.stderr.write(f"shoal: {plain(step)}\n")
        async with aclosing(client.stream(read_log, found.task_instance_id, StreamQuery(follow=follow))) as parts:
            async for part in parts:
                if call.as_json:
                    whole += part
                else:
                    sys.stdout.buffer.write(harmless(part) if sys.stdout.isatty() else part)
                    sys.stdout.buffer.flush()
    if call.as_json:
        output.print_json({"task_instance_id": str(found.task_instance_id), "log": whole.decode(errors="replace")})
