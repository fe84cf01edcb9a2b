"""`shoal task`: lists attempts of tasks; its other verbs change the result of one, and restart streams."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Annotated

import typer

from model.runs.states import TaskState
from service.cluster import clock
from service.runs import attempts, requests
from service.words import duration, plain, when
from shoal.cli import marking, output, streams
from shoal.cli.filters import Filters
from shoal.cli.invocation import Invocation
from shoal.cli.output import Column
from shoal.cli.verbs import verb
from shoal.clients.pages import all_items

if TYPE_CHECKING:
    from service.runs.answers import AttemptAnswer


def add_to(app: typer.Typer) -> None:
    """Add the group `task`."""
    group = typer.Typer(no_args_is_help=True, help="Tasks of all runs: list, force a success, restart streams.")
    verb(
        group,
        "shoal task list --state failure --since 1d",
        "shoal task list --worker w1 --state running_execution",
        name="list",
    )(list_all)
    marking.add_to(group)
    streams.add_to_tasks(group)
    app.add_typer(group, name="task")


async def list_all(
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
    asked = requests.TaskQuery.read(
        **filters.given(),
        state=state,
        type=[each.upper() for each in type_] if type_ else None,
        name=name,
        worker=worker,
        worker_group=worker_group,
    )
    async with call.client() as client:
        now = (await client.ask(clock.read_clock)).now
        found = await all_items(
            lambda size, cursor: client.ask(
                attempts.list_task_instances, asked.model_copy(update={"limit": size, "cursor": cursor})
            ),
            limit,
        )
    how = "See those of a run: shoal show RUN"
    if not output.needs_table(call, found, "No attempt of a task matches.", how):
        return
    _print_tasks(call, found, now)
    output.hint(f"Its log: shoal log {found[0].id}   Its run: shoal show {found[0].run_id}")


def _print_tasks(call: Invocation, found: Sequence[AttemptAnswer], now: datetime) -> None:
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
