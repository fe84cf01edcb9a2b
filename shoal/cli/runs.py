"""The verbs about runs: `runs`, `show`, `log`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from model.states import WorkflowState
from shoal.cli.call import Call
from shoal.cli.verbs import verb

if TYPE_CHECKING:
    from dao.lists import Run, TaskRun

RunName = Annotated[str, typer.Argument(metavar="RUN", help="Its id, @last, @failed, or a workflow's name.")]


def add_to(app: typer.Typer) -> None:
    """Add these verbs."""
    verb(app, "shoal runs", "shoal runs --state failure --since 1d", "shoal runs --workflow hello")(runs)
    verb(app, "shoal show @last", "shoal show hello", "shoal show 1042")(show)
    verb(app, "shoal log 1042/greet -f", "shoal log 88123")(log)


async def runs(
    call: Call,
    state: Annotated[
        list[WorkflowState] | None, typer.Option(case_sensitive=False, help="Only these; may be repeated.")
    ] = None,
    workflow: Annotated[str | None, typer.Option(help="Only runs of this workflow.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=100_000, help="At most so many, newest first.")] = 20,
    since: Annotated[str | None, typer.Option(help="Only those started since then: 30s, 15m, 12h, 7d.")] = None,
) -> None:
    """List runs, newest first."""
    from dao import lists
    from model.errors import Refused
    from shoal.cli import answer
    from shoal.cli.answer import Column
    from shoal.words import duration, parse_duration, when

    try:
        age = parse_duration(since) if since else None
    except ValueError as error:
        raise Refused(f"--since {error}") from None
    async with call.asking() as ask:
        found = await lists.runs(ask.connection, limit, states=state or (), workflow=workflow)
    if age is not None:
        found = [run for run in found if run.started_at >= ask.now - age]
    if call.as_json:
        answer.print_json([_run_fields(run) for run in found])
        return
    if not found:
        answer.say("No run matches." if state or workflow or since else "There is no run yet.")
        answer.hint("Start one: shoal run NAME   What can be started: shoal workflow list")
        return
    columns = [
        Column("RUN", right=True),
        Column("WORKFLOW", keep=5),
        Column("VERSION", keep=1, right=True),
        Column("STATE"),
        Column("STARTED", keep=4, right=True),
        Column("TOOK", keep=3, right=True),
        Column("MASTER", keep=0),
        Column("WHY", keep=2, sentence=True),
    ]
    answer.table(
        columns,
        [
            (
                run.id,
                run.workflow or f"code {run.workflow_code}",
                run.version,
                answer.state(run.state),
                when(run.started_at, ask.now, utc=call.utc),
                duration(run.took_s),
                run.owner or "-",
                run.reason or "",
            )
            for run in found
        ],
    )
    answer.hint(f"See one: shoal show {found[0].id}   Why it does not move: shoal why {found[0].id}")


async def show(call: Call, run: RunName) -> None:
    """Show one run: its tasks, every attempt, and the tree of who waits for whom."""
    from dao import definitions, lists, questions
    from model.workflow import WorkflowSpec
    from shoal.cli import answer, run_page
    from shoal.references import find_run

    async with call.asking() as ask:
        id_ = await find_run(ask.connection, run)
        found, tasks = await lists.run(ask.connection, id_)
        key = (found.workflow_code, found.version)
        spec = (await definitions.specs(ask.connection, [key])).get(key)
        command = await questions.started_by(ask.connection, id_)
    if call.as_json:
        slot = str(command.slot) if command and command.slot else None
        head = answer.json_fields(
            {**_run_fields(found), "command_id": command.id if command else None, "slot_at_start": slot}
        )
        answer.print_json({**head, "tasks": [_task_fields(task) for task in tasks]})
        return
    plan = spec.coded() if isinstance(spec, WorkflowSpec) else None
    run_page.print_run(found, tasks, plan, command, ask.now, utc=call.utc)


async def log(
    call: Call,
    task: Annotated[str, typer.Argument(metavar="TASK", help="A task instance's id, or RUN/name.")],
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on until the task has ended.")] = False,
) -> None:
    """Print the log of a task, from the worker that ran it."""
    import sys

    from shoal.cli import answer
    from shoal.references import find_task
    from shoal.task_output import read_output
    from shoal.terminal import harmless

    token = call.settings.worker.log_token
    async with call.asking() as ask:
        run, found = await find_task(ask.connection, task)
        whole = bytearray()
        async for part in read_output(
            ask.database, run, found, follow=follow, token=token.get_secret_value() if token else None
        ):
            if call.as_json:
                whole += part
            else:
                sys.stdout.buffer.write(harmless(part) if sys.stdout.isatty() else part)
                sys.stdout.buffer.flush()
    if call.as_json:
        answer.print_json({"task_instance_id": str(found.id), "log": whole.decode(errors="replace")})


def _run_fields(run: Run) -> dict[str, Any]:
    from shoal.cli.answer import json_fields

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
        }
    )


def _task_fields(task: TaskRun) -> dict[str, Any]:
    from dataclasses import asdict

    from shoal.cli.answer import json_fields

    fields = asdict(task)
    fields["worker_id"] = fields.pop("worker")
    fields["worker"] = fields.pop("worker_address")
    return json_fields(fields)
