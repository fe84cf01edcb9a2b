"""Listings of runs for people. Reads only.

Pages go by id (keyset), so that page 1,000 costs as much as page 1. Ages and durations are in seconds, computed with
the database's clock. A row inserted by hand may contain a date that Python does not support, so such columns are
returned as an age or not at all.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import Any

from sqlalchemy import BigInteger, ColumnElement, Double, Select, case, cast, extract, func, select, text

from dao.postgres.engine import AsyncConnection
from dao.postgres.errors import BadData
from dao.postgres.tables import node, task_instance, workflow_definition, workflow_instance
from dao.run_lists import run_pages
from dao.run_lists.run_pages import WantedRuns
from dao.runs.backfills import dates_left
from dao.runs.code_lists import read_codes
from dao.runs.run_times import elapsed_s, worked_s
from model.choices import ExecutionType, Flag, Priority
from model.errors import NotFound
from model.ids import Epoch, TaskCode, TaskInstanceId, WorkflowCode, WorkflowInstanceId
from model.runs.looks import Looks
from model.runs.progress import Progress
from model.runs.states import TaskState, WaitReason, WorkflowState


@dataclass(frozen=True, slots=True)
class Run:
    """A run in a list. `owner` is the name of its master, or its address if it has none.

    `took_s` is the time in which its tasks, or those of its child runs, ran on workers; `elapsed_s` the time from its
    start to its end. Both still grow while it runs. `schedule_time` is the time that the run is for, to be shown in
    `time_zone`. `requested_state` is a pause or stop that its owner has not handled yet. `scope` limits it to some
    tasks, None does not. `parent` is the run of whose task (`parent_code`, named `parent_task`) it is a child, of a
    workflow of `parent_project`. `dates_left` are the dates of its backfill that begin when it has succeeded. `project`
    is that of its workflow. `serial_key` is the key of its line, if its workflow has one for each value. From
    `interval_start` to `interval_end` is the interval of its schedule, if it has one. `ending_as` is of one that cleans
    up: the state in which it ends then. `started_by` is the run whose task (`started_by_task`), of a workflow of
    `started_by_project`, started it without waiting for it.
    """

    id: WorkflowInstanceId
    workflow_code: WorkflowCode
    workflow: str | None
    version: int
    state: WorkflowState
    priority: Priority
    started_at: datetime
    took_s: float
    elapsed_s: float
    reason: str | None
    master: Epoch
    owner: str | None
    takeovers: int
    params: str
    schedule_time: datetime
    time_zone: str
    command_type: str
    execution_type: ExecutionType
    run_times: int
    requested_state: WorkflowState | None
    scope: frozenset[TaskCode] | None
    parent: WorkflowInstanceId | None
    parent_code: TaskCode | None
    project: str | None
    parent_project: str | None = None
    parent_task: str | None = None
    dates_left: int = 0
    serial_key: str | None = None
    interval_start: datetime | None = None
    interval_end: datetime | None = None
    ending_as: WorkflowState | None = None
    started_by: WorkflowInstanceId | None = None
    started_by_task: str | None = None
    started_by_project: str | None = None


@dataclass(frozen=True, slots=True)
class TaskRun:
    """One attempt of a task of a run.

    `due_in_s` is the rest of a wait for `wait_reason`, in seconds (<= 0: it is over). `log_day` (yyyyMMdd, UTC) and
    `log_url` locate its log: the folder of that day in that worker's log service. One that is not `valid` belongs to an
    earlier execution of the same run, or its task is to run again. `branch` is the branch that a task selected.
    `progress` is what the task itself reported last, written at `progress_at`. `is_ready` is what the readiness probe
    of a stream found, None without one. `looks` is what a task that waits has found so far.
    """

    id: TaskInstanceId
    code: TaskCode
    attempt: int
    name: str
    type: str
    state: TaskState
    kill_requested: bool
    worker_group: str
    priority: Priority
    worker: Epoch | None
    worker_address: str | None
    log_url: str | None
    log_day: str
    queued_at: datetime
    started_at: datetime | None
    ended_at: datetime | None
    took_s: float | None
    exit_code: int | None
    reason: str | None
    outputs: str | None
    wait_reason: WaitReason | None
    due_in_s: float | None
    valid: bool
    branch: frozenset[TaskCode] | None
    retries: int = 0
    progress: Progress | None = None
    progress_at: datetime | None = None
    is_stream: bool = False
    is_ready: bool | None = None
    looks: Looks | None = None


_IS_WANTED = text("workflow_instance.id = ANY(CAST(:ids AS bigint[]))")
_IS_OF_WANTED = text("""
    workflow_instance_id = ANY(CAST(:ids AS bigint[])) AND (task_code > 0 OR task_code = CAST(:element AS bigint))
""")


async def runs(connection: AsyncConnection, wanted: WantedRuns) -> list[Run]:
    """The runs that are wanted, newest first."""
    # Found and read by one statement, so that each is as it was when it was found.
    query = _runs().where(run_pages.newest(wanted)).order_by(workflow_instance.c.id.desc())
    return [_run(row) for row in (await connection.execute(query)).all()]


async def run(connection: AsyncConnection, id_: WorkflowInstanceId) -> tuple[Run, list[TaskRun]]:
    """One run and all attempts of its tasks, in the order in which they were queued, without those of elements. Raises
    `NotFound`."""
    return await run_head(connection, id_), (await attempts(connection, [id_]))[id_]


async def run_head(connection: AsyncConnection, id_: WorkflowInstanceId) -> Run:
    """One run without its tasks. Raises `NotFound`."""
    return (await heads(connection, [id_]))[id_]


async def heads(connection: AsyncConnection, ids: Collection[WorkflowInstanceId]) -> dict[WorkflowInstanceId, Run]:
    """These runs without their tasks. Raises `NotFound`."""
    found = await present(connection, ids)
    for id_ in ids:
        if id_ not in found:
            raise no_run(id_)
    return found


def no_run(id_: WorkflowInstanceId) -> NotFound:
    """The error for a run that does not exist."""
    return NotFound(f"there is no run {id_}; `shoal runs` lists those there are")


async def present(connection: AsyncConnection, ids: Collection[WorkflowInstanceId]) -> dict[WorkflowInstanceId, Run]:
    """Those of these runs that exist, without their tasks."""
    rows = (await connection.execute(_runs().where(_IS_WANTED.bindparams(ids=list(ids))))).all()
    return {row.id: _run(row) for row in rows}


async def attempts(
    connection: AsyncConnection, ids: Collection[WorkflowInstanceId], element: TaskCode | None = None
) -> dict[WorkflowInstanceId, list[TaskRun]]:
    """All attempts of the tasks of each of these runs, in the order in which they were queued; of the elements of tasks
    only those of the one with the code `element`."""
    found: dict[WorkflowInstanceId, list[TaskRun]] = {id_: [] for id_ in ids}
    t = task_instance.c
    wanted = _IS_OF_WANTED.bindparams(ids=list(ids), element=element)
    query = tasks().where(wanted).order_by(t.workflow_instance_id, t.id)
    for run_id, *row in (await connection.execute(query)).all():
        found[run_id].append(read_task(row))
    return found


def that_match(query: Select[Any], wanted: WantedRuns) -> Select[Any]:
    """A query on runs, and their definitions if it `is_of_workflows`, limited by states, workflows and starts."""
    i, d = workflow_instance.c, workflow_definition.c
    if wanted.states:
        query = query.where(i.state.in_(wanted.states))
    if wanted.workflow is not None:
        query = query.where(d.name == wanted.workflow)
    if wanted.project is not None:
        query = query.where(d.project == wanted.project)
    if wanted.visible is not None:
        query = query.where(d.project.in_(wanted.visible))
    if wanted.since is not None:
        query = query.where(i.started_at >= wanted.since)
    if wanted.until is not None:
        query = query.where(i.started_at < wanted.until)
    return query


def _node_name() -> ColumnElement[str]:
    return func.coalesce(func.nullif(node.c.name, ""), node.c.address)


@cache  # to compose it takes longer than to run it
def _runs() -> Select[Any]:
    i, d = workflow_instance.c, workflow_definition.c
    above, by_task = task_instance.alias("above"), task_instance.alias("by_task")
    parent_task = select(above.c.task_name).where(
        above.c.workflow_instance_id == i.parent_instance_id,
        above.c.task_code == i.parent_task_code,
        above.c.attempt == i.parent_attempt,
    )
    parent = workflow_instance.alias("parent")
    whose = workflow_definition.alias("whose")
    parent_project = select(whose.c.project).where(
        parent.c.id == i.parent_instance_id, whose.c.code == parent.c.workflow_code
    )
    starter = [cast(func.split_part(i.started_by, "/", part), BigInteger) for part in (1, 2, 3)]
    by, its = workflow_instance.alias("starter"), workflow_definition.alias("its")
    started_by_task = select(by_task.c.task_name).where(
        by_task.c.workflow_instance_id == starter[0],
        by_task.c.task_code == starter[1],
        by_task.c.attempt == starter[2],
    )
    started_by_project = select(its.c.project).where(by.c.id == starter[0], its.c.code == by.c.workflow_code)
    return (
        select(
            *(i.id, i.workflow_code, d.name, i.workflow_version, i.state, i.priority, i.started_at),
            *(worked_s(), elapsed_s(i.started_at, i.ended_at), i.reason, i.master_id, _node_name(), i.takeovers),
            *(i.params, i.schedule_time, i.time_zone, i.command_type, i.execution_type, i.run_times),
            *(i.requested_state, func.coalesce(i.executing, i.scope), i.parent_instance_id, i.parent_task_code),
            *(d.project, parent_project.correlate(workflow_instance).scalar_subquery()),
            *(parent_task.correlate(workflow_instance).scalar_subquery(), i.backfill, i.serial_key),
            *(i.interval_start, i.interval_end, i.ending_as),
            *(starter[0], started_by_task.correlate(workflow_instance).scalar_subquery()),
            started_by_project.correlate(workflow_instance).scalar_subquery(),
        )
        .select_from(workflow_instance)
        .outerjoin(workflow_definition, d.code == i.workflow_code)
        .outerjoin(node, node.c.id == i.master_id)
    )


@cache
def tasks() -> Select[Any]:
    """All attempts of all runs, each after the id of its run in the columns that `read_task` reads."""
    t = task_instance.c
    return (
        select(
            *(t.workflow_instance_id, t.id, t.task_code, t.attempt, t.task_name, t.task_type, t.state),
            *(t.kill_requested, t.worker_group),
            *(t.task_priority, t.worker_id, _node_name(), node.c.log_url, func.to_char(t.queued_at, "YYYYMMDD")),
            *(t.queued_at, t.started_at, t.ended_at, elapsed_s(t.started_at, t.ended_at)),
            *(t.exit_code, t.reason, t.outputs, t.wait_reason),
            cast(extract("epoch", t.due_at - func.clock_timestamp()), Double),
            *(t.flag == Flag.YES, t.branch, t.retries),
            *(t.progress_done, t.progress_total, t.progress_text, t.progress_at),
            *(t.stream.is_not(None), case((t.stream.has_key("readiness"), t.ready_at.is_not(None)))),
            *(t.looks, func.clock_timestamp()),
        )
        .select_from(task_instance)
        .outerjoin(node, node.c.id == t.worker_id)
    )


def _run(row: Sequence[Any]) -> Run:
    id_, code, workflow, version, state, priority, *others = row
    *others, start, end, ending_as, started_by, started_by_task, started_by_project = others
    *others, asked, scope, parent, parent_code, project, above_project, above, left, serial_key = others
    *others, execution_type, run_times = others
    requested = WorkflowState(asked) if asked else None
    others += [ExecutionType(execution_type), run_times, requested, _codes(scope), parent, parent_code]
    others += [project, above_project, above, len(dates_left(left)), serial_key or None, start, end]
    others += [WorkflowState(ending_as) if ending_as else None, started_by, started_by_task, started_by_project]
    return Run(id_, code, workflow, version, WorkflowState(state), Priority(priority), *others)


def read_task(row: Sequence[Any]) -> TaskRun:
    """An attempt of the columns of `tasks` after the first."""
    id_, code, attempt, name, type_, state, kill_requested, worker_group, priority, *others = row
    *others, done, total, said, progress_at, is_stream, is_ready, looks, now = others
    *between, wait_reason, due_in_s, valid, branch, retries = others
    between += [WaitReason(wait_reason) if wait_reason else None, due_in_s, valid, _codes(branch), retries]
    between += [None if done is None else Progress(done, total, said or ""), progress_at, is_stream, is_ready]
    between.append(looks_of(looks, now))
    return TaskRun(
        *(id_, code, attempt, name, type_, TaskState(state), kill_requested, worker_group, Priority(priority)),
        *between,
    )


def looks_of(found: object, now: datetime) -> Looks | None:
    """What a row says of looks in vain; None if it says none, or nothing that can be read."""
    if not isinstance(found, dict):
        return None
    try:
        ago_s = (now - datetime.fromisoformat(found["at"])).total_seconds()
        return Looks(int(found["count"]), max(0.0, ago_s), str(found["said"]))
    except (KeyError, TypeError, ValueError):
        return None


def _codes(text_: str | None) -> frozenset[TaskCode] | None:
    try:
        return read_codes(text_, "it")
    except BadData:  # so that the list still shows the other rows
        return None
