"""The verbs about runs: `runs`, `show`, `log`."""

from __future__ import annotations

from dataclasses import asdict
from datetime import timedelta
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
    from service.runs.run_page import RunPage

RunName = Annotated[str, typer.Argument(metavar="RUN", help="Its id, @last, @failed, or a workflow's name.")]
AGE_MAX = timedelta(days=365_000)
"""No run is older; Python's calendar ends a thousand years further back."""

_NOT_OF_RUN = {"execution_type", "scope", "parent_code"}
"""Fields that are not in the JSON of a run."""


def add_to(app: typer.Typer) -> None:
    """Add these verbs."""
    verb(app, "shoal runs", "shoal runs --state failure --since 1d", "shoal runs --workflow hello")(runs)
    verb(app, "shoal show @last", "shoal show hello", "shoal show 1042")(show)
    verb(app, "shoal log 1042/greet -f", "shoal log 88123")(log)


async def runs(
    call: Invocation,
    state: Annotated[
        list[WorkflowState] | None, typer.Option(case_sensitive=False, help="Only runs in this state; may be repeated.")
    ] = None,
    workflow: Annotated[str | None, typer.Option(help="Only runs of this workflow.")] = None,
    project: Annotated[str | None, typer.Option(help="Only runs of workflows of this project.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=100_000, help="At most this many, newest first.")] = 20,
    since: Annotated[str | None, typer.Option(help="Only runs started within this time: 30s, 15m, 12h, 7d.")] = None,
    children: Annotated[bool, typer.Option("--children", help="Also show child runs, each with its parent.")] = False,
) -> None:
    """List runs, newest first; child runs (of SUB_PROCESS and DYNAMIC tasks) only with --children or --workflow."""
    from model.durations import read_duration
    from service.runs.run_list import list_runs
    from service.words import counted, plain
    from shoal.cli import output

    age = read_duration(since, "--since") if since else None
    async with call.reading() as reading:
        begin = reading.now - min(age, AGE_MAX) if age is not None else None
        found = await list_runs(
            reading.connection,
            limit,
            states=state or (),
            workflow=workflow,
            project=project,
            since=begin,
            children=children or workflow is not None,
        )
    hidden = f"{counted(found.hidden, 'child run')} not shown: the same with --children" if found.hidden else ""
    if call.as_json or not found.runs:
        none = "No run matches." if state or workflow or project or since or hidden else "There is no run yet."
        how = hidden or "Start one: shoal run NAME   What can be started: shoal workflow list"
        output.print_result(call, [_run_fields(run) for run in found.runs], none, how)
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
    from service.words import duration, when
    from shoal.cli import output
    from shoal.cli.output import Column
    from shoal.cli.run_page import run_time, said_why

    times = [run_time(run, utc=call.utc) for run in found]
    parents = ["/".join(str(part) for part in (run.parent, run.parent_task) if part) or "-" for run in found]
    has_projects = len({run.project for run in found}) > 1
    output.table(
        Column("RUN", [run.id for run in found], right=True),
        *([Column("PARENT", parents)] if any(run.parent for run in found) else []),
        *([Column("PROJECT", [run.project or "-" for run in found], keep=6)] if has_projects else []),
        Column("WORKFLOW", [run.workflow or f"code {run.workflow_code}" for run in found], keep=6),
        Column("VERSION", [run.version for run in found], keep=1, right=True),
        Column("STATE", [output.state(run.state) for run in found]),
        *([Column("FOR", [time or "-" for time in times], keep=5)] if any(times) else []),
        Column("STARTED", [when(run.started_at, now, utc=call.utc) for run in found], keep=4, right=True),
        Column("TOOK", [duration(run.took_s) for run in found], keep=3, right=True),
        Column("MASTER", [run.owner or "-" for run in found], keep=0),
        Column("WHY", [said_why(run) for run in found], keep=2, sentence=True),
    )


async def show(
    call: Invocation,
    run: RunName,
    project: AnyProject = None,
    everything: Annotated[bool, typer.Option("--all", help="Also show attempts that no longer count.")] = False,
) -> None:
    """Show one run: its tasks, every attempt, and the tree of what waits for what."""
    from service.runs.references import find_run
    from service.runs.run_page import read_page
    from shoal.cli import output, run_page

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
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Follow the log until the task has ended.")] = False,
) -> None:
    """Print the log of a task, from the worker that ran it.

    For a task that stands for other runs, it is the log of the child's task that failed or runs. For a SWITCH or
    CONDITIONS task, which no worker runs, it is the decision and the reason.
    """
    import sys

    from service.runs.log_source import find_log, read_log
    from service.words import plain
    from shoal.cli import output
    from shoal.terminal import harmless

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

    fields = {name: value for name, value in asdict(run).items() if name not in _NOT_OF_RUN}
    fields["master_id"], fields["master"] = fields.pop("master"), fields.pop("owner")
    fields["parent_id"] = fields.pop("parent")
    fields["dates_left"] = run.dates_left or None
    return json_fields(fields)


def _page_fields(page: RunPage) -> dict[str, Any]:
    from shoal.cli.output import json_fields

    command = page.command
    slot = str(command.slot) if command and command.slot else None
    left = {"left_s": page.left.run_s, "usual_s": page.left.usual_s}
    return {
        **_run_fields(page.run),
        **json_fields({"command_id": command.id if command else None, "slot_at_start": slot, **left}),
        "tasks": [_task_fields(page, task) for task in page.tasks],
        "not_begun": [{"name": name, "state": not_begun.state} for name, not_begun in page.not_begun.items()],
        "children": [
            json_fields({"id": child.id, "workflow": child.workflow, "state": child.state, "task_code": child.code})
            for child in page.children
        ],
    }


def _task_fields(page: RunPage, task: TaskRun) -> dict[str, Any]:
    from shoal.cli.output import json_fields

    fields = asdict(task)
    fields["worker_id"] = fields.pop("worker")
    fields["worker"] = fields.pop("worker_address")
    fields["branch"] = None if task.branch is None else [str(code) for code in sorted(task.branch)]
    if task.progress is not None:
        fields["progress"]["percent"] = round(task.progress.percent, 2)
    fields["left_s"] = page.left.tasks_s.get(task.id)
    fields["choice"] = page.choices.get(task.name) if task.valid else None
    if failed := page.failure_below(task):
        fields["failed_below"] = json_fields({"run_id": failed.run, "task_id": failed.id, "task": failed.task})
    return json_fields(fields)
