"""Listings of runs for people. Reads only.

Pages go by id (keyset), so that page 1,000 costs as much as page 1. Ages and durations are in seconds, computed with
the database's clock. A row inserted by hand may contain a date that Python does not support, so such columns are
returned as an age or not at all.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime
from functools import cache
from typing import Any

from sqlalchemy import BigInteger, ColumnElement, Double, Row, Select, case, cast, extract, func, select, text

from dao.postgres.engine import AsyncConnection
from dao.postgres.errors import BadData
from dao.postgres.tables import node, task_instance, workflow_definition, workflow_instance
from dao.run_lists import run_pages
from dao.run_lists.run_pages import WantedRuns
from dao.runs.backfills import dates_left
from dao.runs.code_lists import read_codes
from dao.runs.rows import Run, TaskRun
from dao.runs.run_times import elapsed_s, worked_s
from model.choices import ExecutionType, Flag, Priority
from model.errors import NotFound
from model.ids import TaskCode, WorkflowInstanceId
from model.runs.looks import Looks
from model.runs.progress import Progress
from model.runs.states import TaskState, WaitReason, WorkflowState

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
    columns = {
        **{"workflow": d.name, "version": i.workflow_version, "master": _node_name(), "dates_left": i.backfill},
        **{"took_s": worked_s(), "elapsed_s": elapsed_s(i.started_at, i.ended_at)},
        **{"scope": func.coalesce(i.executing, i.scope), "started_by_id": starter[0]},
        **{"parent_id": i.parent_instance_id, "parent_code": i.parent_task_code},
    }
    of_others = {"parent_project": parent_project, "parent_task": parent_task}
    of_others |= {"started_by_task": started_by_task, "started_by_project": started_by_project}
    columns |= {name: each.correlate(workflow_instance).scalar_subquery() for name, each in of_others.items()}
    return (
        select(
            *(i.id, i.workflow_code, d.project, i.state, i.priority, i.started_at, i.reason, i.master_id, i.takeovers),
            *(i.params, i.schedule_time, i.time_zone, i.command_type, i.execution_type, i.run_times, i.requested_state),
            *(i.serial_key, i.interval_start, i.interval_end, i.ending_as),
            *(column.label(name) for name, column in columns.items()),
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


def _run(row: Row[Any]) -> Run:
    """A run of the columns of `_runs`, each under the name of its field."""
    read = {
        **{"state": WorkflowState(row.state), "priority": Priority(row.priority), "scope": _codes(row.scope)},
        "execution_type": ExecutionType(row.execution_type),
        "requested_state": WorkflowState(row.requested_state) if row.requested_state else None,
        "ending_as": WorkflowState(row.ending_as) if row.ending_as else None,
        "dates_left": len(dates_left(row.dates_left)) or None,
        "serial_key": row.serial_key or None,
    }
    return Run(**{**row._mapping, **read})


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
