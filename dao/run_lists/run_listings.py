"""Listings of runs for people. Reads only.

Pages go by id (keyset), so that page 1,000 costs as much as page 1. Ages and durations are in seconds, computed with
the database's clock. A row inserted by hand may contain a date that Python does not support, so such columns are
returned as an age or not at all.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from dao.postgres.pool import AsyncConnection
from dao.postgres.rows import Row
from dao.postgres.sql import Sql
from dao.run_lists import run_pages
from dao.run_lists.attempt_rows import attempts_that, task_of
from dao.run_lists.wanted_runs import WantedRuns
from dao.runs.backfills import dates_left
from dao.runs.code_lists import readable_codes
from dao.runs.rows import Run, TaskRun
from model.choices import ExecutionType, Priority
from model.errors import NotFound
from model.ids import TaskCode, WorkflowInstanceId
from model.runs.states import WorkflowState

# `took_s`: the attempts of a run and of all runs below it, as far as they were on a worker: what waits for a worker, a
# time, a child or a person is at rest. A run without any attempt was at work if a master ever drove it. UNION, not
# UNION ALL: rows written by hand may stand under each other. Times that are infinite have no distance. OFFSET 0: each
# run by itself, since a join could read all tasks in the history.
_RUNS = """
    SELECT i.id, i.workflow_code, d.name AS workflow, d.project, i.workflow_version AS version, i.state, i.priority,
           i.started_at, i.ended_at, (
               WITH RECURSIVE below AS (
                   SELECT i.id AS id
                   UNION
                   SELECT child.id FROM below CROSS JOIN LATERAL (
                       SELECT c.id FROM workflow_instance c                     -- index: workflow_instance_child
                       WHERE c.parent_instance_id = below.id OFFSET 0) AS child
               ), attempt AS (
                   SELECT own.* FROM below CROSS JOIN LATERAL (
                       SELECT t.worker_id, t.started_at, coalesce(t.ended_at, clock_timestamp()) AS ended_at
                       FROM task_instance t                                     -- index: task_instance_attempt
                       WHERE t.workflow_instance_id = below.id OFFSET 0) AS own
               ), at_work AS (
                   SELECT unnest(range_agg(tstzrange(started_at, greatest(started_at, ended_at), '[]'))) AS stretch
                   FROM attempt WHERE worker_id IS NOT NULL AND isfinite(started_at) AND isfinite(ended_at)
               )
               SELECT CASE WHEN EXISTS (SELECT FROM attempt)
                           THEN coalesce((SELECT sum(extract(epoch FROM upper(stretch) - lower(stretch)))
                                          FROM at_work), 0)
                           WHEN i.master_id > 0
                           THEN extract(epoch FROM coalesce(i.ended_at, clock_timestamp()) - i.started_at)
                           ELSE 0 END::float8) AS took_s,
           extract(epoch FROM coalesce(i.ended_at, clock_timestamp()) - i.started_at)::float8 AS elapsed_s,
           i.reason, i.master_id, coalesce(nullif(n.name, ''), n.address) AS master, i.takeovers, i.params,
           i.schedule_time, i.time_zone, i.command_type, i.execution_type, i.run_times, i.requested_state,
           coalesce(i.executing, i.scope) AS scope, i.parent_instance_id AS parent_id,
           i.parent_task_code AS parent_code,
           (SELECT whose.project FROM workflow_instance above
            JOIN workflow_definition whose ON whose.code = above.workflow_code
            WHERE above.id = i.parent_instance_id) AS parent_project,
           (SELECT t.task_name FROM task_instance t                             -- index: task_instance_attempt
            WHERE t.workflow_instance_id = i.parent_instance_id AND t.task_code = i.parent_task_code
              AND t.attempt = i.parent_attempt) AS parent_task,
           i.backfill AS dates_left, i.serial_key, i.interval_start, i.interval_end, i.ending_as,
           starter.run AS started_by_id,
           (SELECT t.task_name FROM task_instance t                             -- index: task_instance_attempt
            WHERE t.workflow_instance_id = starter.run AND t.task_code = starter.task
              AND t.attempt = starter.attempt) AS started_by_task,
           (SELECT whose.project FROM workflow_instance by
            JOIN workflow_definition whose ON whose.code = by.workflow_code
            WHERE by.id = starter.run) AS started_by_project
    FROM workflow_instance i
    LEFT JOIN workflow_definition d ON d.code = i.workflow_code
    LEFT JOIN node n ON n.id = i.master_id
    CROSS JOIN LATERAL (SELECT split_part(i.started_by, '/', 1)::bigint AS run,
                               split_part(i.started_by, '/', 2)::bigint AS task,
                               split_part(i.started_by, '/', 3)::bigint AS attempt) AS starter
    WHERE i.id = ANY({ids})
    ORDER BY i.id DESC
"""


async def runs(connection: AsyncConnection, wanted: WantedRuns) -> list[Run]:
    """The runs that are wanted, newest first."""
    # Found and read by one statement, so that each is as it was when it was found.
    ids, values = run_pages.newest_ids(wanted)
    return await _read(connection, f"ARRAY({ids})", values)


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
    return {run.id: run for run in await _read(connection, "CAST(:ids AS bigint[])", {"ids": list(ids)})}


async def attempts(
    connection: AsyncConnection, ids: Collection[WorkflowInstanceId], element: TaskCode | None = None
) -> dict[WorkflowInstanceId, list[TaskRun]]:
    """All attempts of the tasks of each of these runs, in the order in which they were queued; of the elements of tasks
    only those of the one with the code `element`."""
    found: dict[WorkflowInstanceId, list[TaskRun]] = {id_: [] for id_ in ids}
    values = {"ids": list(ids), "element": element}
    statement = attempts_that(_IS_OF_RUNS, "t.workflow_instance_id, t.id", values)
    for row in await connection.execute(statement):
        found[row.workflow_instance_id].append(task_of(row))
    return found


_IS_OF_RUNS = """
    t.workflow_instance_id = ANY(CAST(:ids AS bigint[])) AND (t.task_code > 0 OR t.task_code = CAST(:element AS bigint))
"""


async def _read(connection: AsyncConnection, ids: str, values: Mapping[str, Any]) -> list[Run]:
    return [_run(row) for row in await connection.execute(Sql(_RUNS.format(ids=ids), values))]


def _run(row: Row) -> Run:
    """Each column has the name of its field."""
    read = {
        **{"state": WorkflowState(row.state), "priority": Priority(row.priority), "scope": readable_codes(row.scope)},
        "execution_type": ExecutionType(row.execution_type),
        "requested_state": WorkflowState(row.requested_state) if row.requested_state else None,
        "ending_as": WorkflowState(row.ending_as) if row.ending_as else None,
        "dates_left": len(dates_left(row.dates_left)) or None,
        "serial_key": row.serial_key or None,
    }
    return Run(**{**row._asdict(), **read})
