"""The verbs about runs: `runs`, `show`, `log`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from model.states import WorkflowState
from shoal.cli.invocation import Invocation
from shoal.cli.verbs import verb

if TYPE_CHECKING:
    from dao.views.listings import Run, TaskRun
    from shoal.cli.run_page import RunPage

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
    limit: Annotated[int, typer.Option(min=1, max=100_000, help="At most so many, newest first.")] = 20,
    since: Annotated[str | None, typer.Option(help="Only those started since then: 30s, 15m, 12h, 7d.")] = None,
) -> None:
    """List runs, newest first."""
    from dao.views import listings
    from model.errors import Refused
    from shoal.cli import output
    from shoal.cli.output import Column
    from shoal.cli.run_page import run_time
    from shoal.words import duration, parse_duration, when

    try:
        age = parse_duration(since) if since else None
    except ValueError as error:
        raise Refused(f"--since {error}") from None
    async with call.reading() as reading:
        found = await listings.runs(reading.connection, limit, states=state or (), workflow=workflow)
    if age is not None:
        found = [run for run in found if run.started_at >= reading.now - age]
    if call.as_json:
        output.print_json([_run_fields(run) for run in found])
        return
    if not found:
        output.say("No run matches." if state or workflow or since else "There is no run yet.")
        output.hint("Start one: shoal run NAME   What can be started: shoal workflow list")
        return
    times = [run_time(run, utc=call.utc) for run in found]
    columns = [
        Column("RUN", right=True),
        Column("WORKFLOW", keep=6),
        Column("VERSION", keep=1, right=True),
        Column("STATE"),
        *([Column("FOR", keep=5)] if any(times) else []),
        Column("STARTED", keep=4, right=True),
        Column("TOOK", keep=3, right=True),
        Column("MASTER", keep=0),
        Column("WHY", keep=2, sentence=True),
    ]
    output.table(
        columns,
        [
            (
                run.id,
                run.workflow or f"code {run.workflow_code}",
                run.version,
                output.state(run.state),
                *([time or "-"] if any(times) else []),
                when(run.started_at, reading.now, utc=call.utc),
                duration(run.took_s),
                run.owner or "-",
                run.reason or "",
            )
            for run, time in zip(found, times, strict=True)
        ],
    )
    output.hint(f"See one: shoal show {found[0].id}   Why it does not move: shoal why {found[0].id}")


async def show(
    call: Invocation,
    run: RunName,
    everything: Annotated[bool, typer.Option("--all", help="Also attempts that count no more.")] = False,
) -> None:
    """Show one run: its tasks, every attempt, and the tree of who waits for whom."""
    from dao.runs import relations
    from dao.views import listings, lookups
    from shoal.cli import output, run_page
    from shoal.runs.references import find_plan, find_run

    async with call.reading() as reading:
        id_ = await find_run(reading.connection, run)
        found, tasks = await listings.run(reading.connection, id_)
        page = run_page.RunPage(
            found,
            tasks,
            await relations.children(reading.connection, id_),
            await find_plan(reading.connection, found),
            await lookups.started_by(reading.connection, id_),
        )
    if call.as_json:
        output.print_json(_page_fields(page))
        return
    run_page.print_run(page, reading.now, utc=call.utc, everything=everything)


async def log(
    call: Invocation,
    task: Annotated[str, typer.Argument(metavar="TASK", help="A task instance's id, or RUN/name.")],
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on until the task has ended.")] = False,
) -> None:
    """Print the log of a task, from the worker that ran it."""
    import sys

    from shoal.cli import output
    from shoal.runs.references import find_task
    from shoal.runs.task_output import read_output
    from shoal.terminal import harmless

    ca = call.settings.worker.log_ca
    async with call.reading() as reading:
        run, found = await find_task(reading.connection, task)
        whole = bytearray()
        async for part in read_output(reading.database, run, found, follow=follow, ca=ca):
            if call.as_json:
                whole += part
            else:
                sys.stdout.buffer.write(harmless(part) if sys.stdout.isatty() else part)
                sys.stdout.buffer.flush()
    if call.as_json:
        output.print_json({"task_instance_id": str(found.id), "log": whole.decode(errors="replace")})


def _run_fields(run: Run) -> dict[str, Any]:
    from shoal.cli.output import json_fields

    return json_fields(
        {
            "id": run.id,
            "workflow_code": run.workflow_code,
            "workflow": run.workflow,
            "version": run.version,
            "state": run.state,
            "priority": run.priority,
            "started_at": run.started_at,
            "took_s": run.took_s,
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
        }
    )


def _page_fields(page: RunPage) -> dict[str, Any]:
    from shoal.cli.output import json_fields

    command = page.command
    slot = str(command.slot) if command and command.slot else None
    return {
        **_run_fields(page.run),
        **json_fields({"command_id": command.id if command else None, "slot_at_start": slot}),
        "tasks": [_task_fields(task) for task in page.tasks],
        "not_begun": [{"name": name, "state": not_begun.state} for name, not_begun in page.not_begun.items()],
        "children": [
            json_fields({"id": child.id, "workflow": child.workflow, "state": child.state, "task_code": child.code})
            for child in page.children
        ],
    }


def _task_fields(task: TaskRun) -> dict[str, Any]:
    from dataclasses import asdict

    from shoal.cli.output import json_fields

    fields = asdict(task)
    fields["worker_id"] = fields.pop("worker")
    fields["worker"] = fields.pop("worker_address")
    fields["branch"] = None if task.branch is None else [str(code) for code in sorted(task.branch)]
    return json_fields(fields)
