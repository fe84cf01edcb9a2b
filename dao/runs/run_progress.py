"""How far runs are: their tasks by state, and what running tasks report. Reads only."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from dao.postgres.errors import BadData
from dao.postgres.pool import AsyncConnection
from dao.postgres.sql import Sql
from dao.postgres.statements import statement
from dao.runs.code_lists import read_codes
from model.ids import TaskInstanceId, WorkflowCode, WorkflowInstanceId
from model.runs.progress import Progress
from model.runs.states import TaskState, WorkflowState


@dataclass(frozen=True, slots=True)
class RunExtent:
    """A run, and the number of its tasks; None if its definition is gone."""

    id: WorkflowInstanceId
    code: WorkflowCode
    state: WorkflowState
    elapsed_s: float | None
    tasks: int | None


@dataclass(frozen=True, slots=True)
class Reporting:
    """A running task that reported how far it is."""

    run: WorkflowInstanceId
    id: TaskInstanceId
    name: str
    progress: Progress


_EXTENTS = Sql("""
    SELECT i.id, i.workflow_code, i.state,
           CASE WHEN isfinite(i.started_at) AND isfinite(coalesce(i.ended_at, now()))
                THEN extract(epoch FROM coalesce(i.ended_at, clock_timestamp()) - i.started_at)::float8 END,
           coalesce(i.executing, i.scope),
           CASE WHEN jsonb_typeof(v.spec -> 'tasks') = 'array' THEN jsonb_array_length(v.spec -> 'tasks') END
    FROM workflow_instance i
    LEFT JOIN workflow_definition d ON d.code = i.workflow_code
    LEFT JOIN workflow_version v ON v.workflow_code = i.workflow_code AND v.version = i.workflow_version
    WHERE i.id = ANY(CAST(:runs AS bigint[]))                                           -- index: workflow_instance_pkey
      AND (CAST(:visible AS text[]) IS NULL OR d.project = ANY(CAST(:visible AS text[])))
    ORDER BY i.id
""")
_STATES = Sql("""
    SELECT wanted.run, own.state, count(*) FROM unnest(CAST(:runs AS bigint[])) AS wanted (run)
    CROSS JOIN LATERAL (
        SELECT t.state FROM task_instance t                                             -- index: task_instance_valid
        WHERE t.workflow_instance_id = wanted.run AND t.task_code > 0 AND t.flag = 'YES' OFFSET 0
    ) AS own
    GROUP BY wanted.run, own.state
""")


async def extents(
    connection: AsyncConnection, runs: Collection[int], visible: Collection[str] | None
) -> list[RunExtent]:
    """These runs, by id; those that do not exist, or are of other than the `visible` projects, are missing."""
    values = {"runs": list(runs), "visible": None if visible is None else list(visible)}
    rows = (await connection.execute(_EXTENTS, values)).all()
    return [
        RunExtent(id_, code, WorkflowState(state), elapsed_s, _count(scope, tasks))
        for id_, code, state, elapsed_s, scope, tasks in rows
    ]


async def states(
    connection: AsyncConnection, runs: Collection[WorkflowInstanceId]
) -> dict[WorkflowInstanceId, dict[TaskState, int]]:
    """How many tasks of each of these runs are in which state; those that have not begun are missing."""
    found: dict[WorkflowInstanceId, dict[TaskState, int]] = {run: {} for run in runs}
    for run, state, count in await connection.execute(_STATES, {"runs": list(runs)}):
        found[run][TaskState(state)] = count
    return found


@statement("""
    SELECT own.* FROM unnest(CAST(:runs AS bigint[])) AS wanted (run)
    CROSS JOIN LATERAL (
        SELECT t.workflow_instance_id, t.id, t.task_name, t.progress_done, t.progress_total,
               coalesce(t.progress_text, '')
        FROM task_instance t                                                            -- index: task_instance_valid
        WHERE t.workflow_instance_id = wanted.run AND t.flag = 'YES' AND t.state = 'RUNNING_EXECUTION'
          AND t.progress_done IS NOT NULL
        ORDER BY t.progress_at DESC LIMIT :each
    ) AS own
""")
async def reports(connection: AsyncConnection, runs: Collection[WorkflowInstanceId], each: int) -> list[Reporting]:
    """The last reports of up to `each` running tasks of each of these runs."""


def _count(scope: str | None, tasks: int | None) -> int | None:
    """A run may be limited to some tasks."""
    try:
        codes = read_codes(scope, "it")
    except BadData:
        codes = None
    return tasks if codes is None else len(codes)
