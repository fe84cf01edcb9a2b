"""Where the log of a task is: of one that stands for other runs that of the child's task that matters most."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated

from pydantic import Field

from dao.postgres.pool import AsyncConnection
from dao.run_lists import element_listings
from dao.run_lists import run_listings as listings
from dao.runs import relations
from dao.runs.rows import Run, TaskRun
from dao.tasks import task_logs
from dao.tasks.task_logs import LogPlace
from model.accounts.rights import Right, is_seen
from model.errors import Forbidden, Refused
from model.ids import TaskInstanceId
from model.runs.states import TaskState, WorkflowState
from service.byte_stream import Source, StreamQuery, stream
from service.call import Call
from service.explain.answer import task_named
from service.explain.choices import read_choices
from service.fields import Answer, Asked, Id, Moment
from service.logs.found_logs import FoundLogs
from service.logs.task_output import TaskLog, Text, log_file_name
from service.logs.worker_logs import WorkerLogs
from service.operation import operation
from service.runs.references import find_plan

STANDS_FOR_RUNS = ("SUB_PROCESS", "DYNAMIC")
DEPTH_MAX = 50


@dataclass(frozen=True)
class LogSource:
    """The attempt whose log is to be read. `way` says step by step how the named attempt leads there; `decision` is
    what a task decided that no worker ran: it stands for the log."""

    place: LogPlace
    way: list[str] = field(default_factory=list)
    decision: str | None = None


class LogSourceQuery(Asked):
    """Which attempt is asked for."""

    begun: Annotated[bool, Field(description="instead of one that still waits, the one of its task before it")] = False


class LogSourceAnswer(Answer):
    """The attempt whose log is that of a task. `way` says step by step how the named attempt leads there. The log store
    has a copy since `stored_at`; without it only its worker has the log."""

    task_instance_id: Id
    run_id: Id
    way: Sequence[str]
    stored_at: Moment | None = None


@operation("GET", "/task-instances/{id}/log-source", Right.VIEW, "task-instances")
async def find_log(call: Call, id: Id, query: LogSourceQuery) -> LogSourceAnswer:
    """Find the attempt whose log is that of a task: for one that stands for other runs, that of a child's task."""
    async with call.reading() as connection:
        found = await _source(call, connection, id, begun=query.begun)
    return LogSourceAnswer(
        task_instance_id=found.place.id, run_id=found.place.run, way=found.way, stored_at=found.place.stored_at
    )


@stream("/task-instances/{id}/log", Right.VIEW, "task-instances")
async def read_log(call: Call, id: Id, query: StreamQuery) -> Source:
    """Read the log of an attempt, from the worker that ran it, or from the log store.

    For a task that stands for other runs, it is the log of the child's task that failed or runs; `Content-Location`
    names it. For a task that chose a branch, which no worker runs, it is the decision and the reason.
    """
    return await open_log(call, TaskInstanceId(id), waits=query.follow)


async def open_log(call: Call, id_: TaskInstanceId, *, waits: bool) -> Source:
    """The log of an attempt. `waits`: one that has not begun is empty; otherwise it is refused."""
    async with call.reading() as connection:
        found = await _source(call, connection, id_)
    if found.decision is not None:
        id_ = found.place.id
        return Text(id_, found.place.project, log_file_name(id_), f"{found.decision}\n")
    worker = WorkerLogs(call.database, call.settings.log_ca)
    reader = FoundLogs(call.database, worker, call.backend.stored_logs)
    return TaskLog(call.database, found.place, reader, waits=waits)


async def _source(call: Call, connection: AsyncConnection, id_: int, *, begun: bool = False) -> LogSource:
    """Where the log of a task is. Raises `NotFound`, `Forbidden`, and `Refused` if it stands for runs of which no task
    has begun."""
    place = await task_logs.log_place(connection, TaskInstanceId(id_))
    call.permit(place.project)
    if place.type not in STANDS_FOR_RUNS and not place.chose_branch:
        if begun and place.worker is None and not place.state.is_final:
            return await _last_begun(connection, place)
        return LogSource(place)
    run, attempts = await listings.run(connection, place.run)
    task = next(each for each in attempts if each.id == place.id)
    way: list[str] = []
    while task.type in STANDS_FOR_RUNS and len(way) < DEPTH_MAX:
        below, found = await _below(call, connection, run, task)
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
    return LogSource(await task_logs.log_place(connection, task.id), way, decision)


async def _last_begun(connection: AsyncConnection, place: LogPlace) -> LogSource:
    """That of the attempt before this one, which waits; if there is none, this one's."""
    _, attempts = await element_listings.run_of(connection, place.id)
    waiting = next(each for each in attempts if each.id == place.id)
    former = [each for each in attempts if each.code == waiting.code and each.attempt < waiting.attempt and each.worker]
    if not former:
        return LogSource(place)
    last = former[-1]
    step = (
        f'attempt {waiting.attempt} of task "{waiting.name}" has not begun ({waiting.state}); '
        f"this is the log of attempt {last.attempt} ({last.id}, {last.state})"
    )
    return LogSource(await task_logs.log_place(connection, last.id), [step])


async def _below(call: Call, connection: AsyncConnection, run: Run, task: TaskRun) -> tuple[Run, TaskRun]:
    """The child that matters most to a task that stands for runs, and its task that matters most.

    Raises `Forbidden`, and `Refused` if no task has begun.
    """
    children = await relations.children(connection, [run.id])
    own = [child for child in children[run.id] if (child.code, child.attempt) == (task.code, task.attempt)]
    if not own:
        because = f": {task.reason}" if task.reason else f"; `shoal why {task_named(run.id, task.name)}` says why"
        raise Refused(f'task "{task.name}" stands for other runs, and none of them has begun{because}')
    first = min(own, key=lambda child: (child.state is not WorkflowState.FAILURE, child.state.is_final, child.index))
    if not is_seen(first.project, call.visible()):
        raise Forbidden(
            f'task "{task.name}" stands for a run of another project, whose logs {call.caller.name} may not read; '
            "ask who may see that project"
        )
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
