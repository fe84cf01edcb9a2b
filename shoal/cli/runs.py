"""The verbs about runs: `runs`, `show`, `log`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from model.states import WorkflowState
from shoal.cli.invocation import Invocation
from shoal.cli.values import AnyProject
from shoal.cli.verbs import verb

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from dao.views.listings import Run, TaskRun
    from shoal.runs.run_page import RunPage

RunName = Annotated[str, typer.Argument(metavar="RUN", help="Its id, @last, @failed, or a workflow's name.")]


def add_to(app: typer.Typer) -> None:
    """Add these verbs."""
    verb(app, "shoal runs", "shoal runs --state failure --since 1d", "shoal runs --workflow hello")(runs)
    verb(app, "shoal show @last", "shoal show hello", "shoal show 1042")(show)
    verb(app, "shoal log 1042/greet -f", "shoal log 88123")(log)


async def runs(
    call: Invocation,
    state: Annotated[
        list[WorkflowState] | None, typer.Option(case_sensitive=False, help="Only these; may be repeated.")
    ] = None,
    workflow: Annotated[str | None, typer.Option(help="Only runs of this workflow.")] = None,
    project: Annotated[str | None, typer.Option(help="Only runs of workflows of this project.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=100_000, help="At most so many, newest first.")] = 20,
    since: Annotated[str | None, typer.Option(help="Only those started since then: 30s, 15m, 12h, 7d.")] = None,
    children: Annotated[
        bool, typer.Option("--children", help="Also the child runs of others, each with its parent.")
    ] = False,
) -> None:
    """List runs, newest first; child runs (of SUB_PROCESS and DYNAMIC tasks) only with --children or --workflow."""
    from model.errors import Refused
    from shoal.cli import output
    from shoal.runs.run_list import list_runs
    from shoal.words import counted, parse_duration, plain

    try:
        age = parse_duration(since) if since else None
    except ValueError as error:
        raise Refused(f"--since {error}") from None
    async with call.reading() as reading:
        begin = reading.now - age if age is not None else None
        found = await list_runs(
            reading.connection,
            limit,
            states=state or (),
            workflow=workflow,
            project=project,
            since=begin,
            children=children or workflow is not None,
        )
    if call.as_json:
        output.print_json([_run_fields(run) for run in found.runs])
        return
    hidden = f"{counted(found.hidden, 'child run')} not shown: the same with --children" if found.hidden else ""
    if not found.runs:
        output.say("No run matches." if state or workflow or project or since or hidden else "There is no run yet.")
        output.hint(hidden or "Start one: shoal run NAME   What can be started: shoal workflow list")
        return
    _print_runs(call, found.runs, reading.now)
    for each in found.refused:
        when_, left = (each.dates[0], len(each.dates) - 1) if each.dates else ("its next date", 0)
        after = f"; {counted(left, 'date')} after it" if left else ""
        output.say(
            f"A backfill of {plain(each.workflow or '')} stopped: its command for {plain(when_)} was refused: "
            f"{plain(each.reason)}{after}; go on: shoal errors retry {each.id}"
        )
    if hidden:
        output.say(hidden)
    first = found.runs[0].id
    output.hint(f"See one: shoal show {first}   Why it does not move: shoal why {first}")


def _print_runs(call: Invocation, found: Sequence[Run], now: datetime) -> None:
    from shoal.cli import output
    from shoal.cli.output import Column
    from shoal.cli.run_page import run_time, said_why
    from shoal.words import duration, when

    times = [run_time(run, utc=call.utc) for run in found]
    children = any(run.parent for run in found)
    projects = len({run.project for run in found}) > 1
    columns = [
        Column("RUN", right=True),
        *([Column("PARENT")] if children else []),
        *([Column("PROJECT", keep=6)] if projects else []),
        Column("WORKFLOW", keep=6),
        Column("VERSION", keep=1, right=True),
        Column("STATE"),
        *([Column("FOR", keep=5)] if any(times) else []),
        Column("STARTED", keep=4, right=True),
        Column("TOOK", keep=3, right=True),
        Column("MASTER", keep=0),
        Column("WHY", keep=2, sentence=True),
    ]
    rows = [
        (
            run.id,
            *(["/".join(str(part) for part in (run.parent, run.parent_task) if part) or "-"] if children else []),
            *([run.project or "-"] if projects else []),
            run.workflow or f"code {run.workflow_code}",
            run.version,
            output.state(run.state),
            *([time or "-"] if any(times) else []),
            when(run.started_at, now, utc=call.utc),
            duration(run.took_s),
            run.owner or "-",
            said_why(run),
        )
        for run, time in zip(found, times, strict=True)
    ]
    output.table(columns, rows)


async def show(
    call: Invocation,
    run: RunName,
    project: AnyProject = None,
    everything: Annotated[bool, typer.Option("--all", help="Also attempts that count no more.")] = False,
) -> None:
    """Show one run: its tasks, every attempt, and the tree of who waits for whom."""
    from shoal.cli import output, run_page
    from shoal.runs.references import find_run
    from shoal.runs.run_page import read_page

    async with call.reading() as reading:
        page = await read_page(reading.connection, await find_run(reading.connection, run, project))
    if call.as_json:
        output.print_json(_page_fields(page))
        return
    run_page.print_run(page, reading.now, utc=call.utc, everything=everything)


async def log(
    call: Invocation,
    task: Annotated[str, typer.Argument(metavar="TASK", help="A task instance's id, or RUN/name.")],
    project: AnyProject = None,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on until the task has ended.")] = False,
) -> None:
    """Print the log of a task, from the worker that ran it.

    Of a task that stands for other runs it is the log of the child's task that failed, or runs; of a SWITCH or
    CONDITIONS, which no worker runs, what it decided and why.
    """
    import sys

    from shoal.cli import output
    from shoal.runs.log_source import find_log, read_log
    from shoal.terminal import harmless
    from shoal.words import plain

    ca = call.settings.worker.log_ca
    async with call.reading() as reading:
        found = await find_log(reading.connection, task, project)
        for step in found.way:
            sys.stderr.write(f"shoal: {plain(step)}\n")
        whole = bytearray()
        async for part in read_log(reading.database, found, follow=follow, ca=ca):
            if call.as_json:
                whole += part
            else:
                sys.stdout.buffer.write(harmless(part) if sys.stdout.isatty() else part)
                sys.stdout.buffer.flush()
    if call.as_json:
        output.print_json({"task_instance_id": str(found.task.id), "log": whole.decode(errors="replace")})


def _run_fields(run: Run) -> dict[str, Any]:
    from shoal.cli.output import json_fields

    return json_fields(
        {
            "id": run.id,
            "workflow_code": run.workflow_code,
            "workflow": run.workflow,
            "project": run.project,
            "version": run.version,
            "state": run.state,
            "priority": run.priority,
            "started_at": run.started_at,
            "took_s": run.took_s,
            "elapsed_s": run.elapsed_s,
            "reason": run.reason,
            "master_id": run.master,
            "master": run.owner,
            "takeovers": run.takeovers,
            "params": run.params,
            "schedule_time": run.schedule_time,
            "time_zone": run.time_zone,
            "command_type": run.command_type,
            "run_times": run.run_times,
            "requested_state": run.requested_state,
            "parent_id": run.parent,
            "parent_task": run.parent_task,
            "dates_left": run.dates_left or None,
        }
    )


def _page_fields(page: RunPage) -> dict[str, Any]:
    from shoal.cli.output import json_fields

    command = page.command
    slot = str(command.slot) if command and command.slot else None
    return {
        **_run_fields(page.run),
        **json_fields({"command_id": command.id if command else None, "slot_at_start": slot}),
        "tasks": [_task_fields(page, task) for task in page.tasks],
        "not_begun": [{"name": name, "state": not_begun.state} for name, not_begun in page.not_begun.items()],
        "children": [
            json_fields({"id": child.id, "workflow": child.workflow, "state": child.state, "task_code": child.code})
            for child in page.children
        ],
    }


def _task_fields(page: RunPage, task: TaskRun) -> dict[str, Any]:
    from dataclasses import asdict

    from shoal.cli.output import json_fields

    fields = asdict(task)
    fields["worker_id"] = fields.pop("worker")
    fields["worker"] = fields.pop("worker_address")
    fields["branch"] = None if task.branch is None else [str(code) for code in sorted(task.branch)]
    fields["choice"] = page.choices.get(task.name) if task.valid else None
    if failed := page.failure_below(task):
        fields["failed_below"] = json_fields({"run_id": failed.run, "task_id": failed.id, "task": failed.task})
    return json_fields(fields)
