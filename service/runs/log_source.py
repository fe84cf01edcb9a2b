"""Where the log of a task is: of one that stands for other runs that of the child's task that matters most."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from sqlalchemy.ext.asyncio import AsyncConnection

from dao.postgres.database import Database
from dao.runs import relations
from dao.views import listings
from dao.views.listings import Run, TaskRun
from model.errors import Refused
from model.states import TaskState, WorkflowState
from service.explain.answer import task_named
from service.explain.choices import read_choices
from service.runs.references import find_plan, find_task
from service.runs.task_output import read_output

STANDS_FOR_RUNS = ("SUB_PROCESS", "DYNAMIC")
DEPTH_MAX = 50


@dataclass(frozen=True)
class LogSource:
    """The task whose log is to be read, and its run. `way` says for each run below the named task how it leads there;
    `decision` is what a task decided that no worker ran: it stands for the log."""

    run: Run
    task: TaskRun
    way: list[str] = field(default_factory=list)
    decision: str | None = None


async def find_log(connection: AsyncConnection, named: str, project: str | None = None) -> LogSource:
    """Find the log of a task, given by its id or as RUN/name (see `find_run`).

    Raises:
        NotFound: there is no such task.
        Refused: it stands for runs of which no task has begun.
    """
    run, task = await find_task(connection, named, project)
    way: list[str] = []
    while task.type in STANDS_FOR_RUNS and len(way) < DEPTH_MAX:
        below, found = await _below(connection, run, task)
        way.append(
            f'task "{task.name}" stands for run {below.id}; its log is that of its task "{found.name}" '
            f"({found.id}, {found.state}): shoal log {found.id}"
        )
        run, task = below, found
    decision = None
    if task.branch is not None:
        _, attempts = await listings.run(connection, run.id)
        others = [each for each in attempts if each.code != task.code]
        decision = (await read_choices(connection, await find_plan(connection, run), [task, *others])).get(task.name)
    return LogSource(run, task, way, decision)


async def read_log(database: Database, source: LogSource, *, follow: bool, ca: Path | None) -> AsyncIterator[bytes]:
    """The bytes of a log, or the decision that stands for it. For the arguments, and what it raises, see
    `read_output`."""
    if source.decision is not None:
        yield f"{source.decision}\n".encode()
        return
    async for part in read_output(database, source.run, source.task, follow=follow, ca=ca):
        yield part


async def _below(connection: AsyncConnection, run: Run, task: TaskRun) -> tuple[Run, TaskRun]:
    """The child that matters most to a task that stands for runs, and its task that matters most."""
    children = await relations.children(connection, [run.id])
    own = [child for child in children[run.id] if (child.code, child.attempt) == (task.code, task.attempt)]
    if not own:
        because = f": {task.reason}" if task.reason else f"; `shoal why {task_named(run.id, task.name)}` says why"
        raise Refused(f'task "{task.name}" stands for other runs, and none of them has begun{because}')
    first = min(own, key=lambda child: (child.state is not WorkflowState.FAILURE, child.state.is_final, child.index))
    below, attempts = await listings.run(connection, first.id)
    if not attempts:
        raise Refused(
            f'task "{task.name}" stands for run {below.id}, of which no task has begun; `shoal why {below.id}` says why'
        )
    return below, _most_important(attempts)


def _most_important(attempts: Sequence[TaskRun]) -> TaskRun:
    """The first that failed, else one that runs, else the last that ran."""
    counting = [attempt for attempt in attempts if attempt.valid] or list(attempts)
    for states in ((TaskState.FAILURE,), (TaskState.RUNNING_EXECUTION,)):
        if found := next((attempt for attempt in counting if attempt.state in states), None):
            return found
    return next((each for each in reversed(counting) if each.worker or each.type in STANDS_FOR_RUNS), counting[-1])
