"""What the spans of a run are made of: its times and those of its attempts, as their rows say. Reads only.

All times are microseconds since 1970, database time; None where there is none that a program can use.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dao.postgres.pool import AsyncConnection
from dao.postgres.sql import Sql
from dao.postgres.statements import statement
from model.ids import TaskInstanceId, WorkflowInstanceId


@dataclass(frozen=True, slots=True)
class ParentAttempt:
    """The attempt under which a run is, and what the trace of its run is computed from."""

    id: TaskInstanceId
    run: WorkflowInstanceId
    run_began_us: int | None
    traceparent: str | None


@dataclass(frozen=True, slots=True)
class EndedRun:
    """A run that has ended. `running_since_us` is its start, or when a command last let it go on."""

    id: WorkflowInstanceId
    project: str | None
    workflow: str | None
    version: int
    state: str
    reason: str | None
    traceparent: str | None
    began_us: int | None
    running_since_us: int | None
    ended_us: int | None
    parent: ParentAttempt | None = None


@dataclass(frozen=True, slots=True)
class EndedAttempt:
    """An attempt that has ended. `started_us` is None for one that never began."""

    id: TaskInstanceId
    task: str
    type: str
    attempt: int
    state: str
    reason: str | None
    worker_group: str
    worker: int | None
    queued_us: int | None
    started_us: int | None
    ended_us: int | None


_ATTEMPTS = Sql("""
    SELECT id, task_name, task_type, attempt, state, reason, worker_group, worker_id,
           CASE WHEN isfinite(queued_at) THEN (extract(epoch FROM queued_at) * 1000000)::bigint END,
           CASE WHEN isfinite(started_at) THEN (extract(epoch FROM started_at) * 1000000)::bigint END,
           CASE WHEN isfinite(ended_at) THEN (extract(epoch FROM ended_at) * 1000000)::bigint END,
           task_code
    FROM task_instance
    WHERE workflow_instance_id = :run AND (task_code, attempt) > (:code, :attempt)  -- index: task_instance_attempt
    ORDER BY task_code, attempt LIMIT :limit
""")


# index: workflow_instance_pkey, task_instance_attempt. LIMIT: a join could begin with all attempts that there are.
@statement("""
    SELECT i.id, d.project, d.name, i.workflow_version, i.state, i.reason, i.traceparent,
           CASE WHEN isfinite(i.started_at) THEN (extract(epoch FROM i.started_at) * 1000000)::bigint END,
           CASE WHEN isfinite(coalesce(i.running_since, i.started_at))
                THEN (extract(epoch FROM coalesce(i.running_since, i.started_at)) * 1000000)::bigint END,
           CASE WHEN isfinite(i.ended_at) THEN (extract(epoch FROM i.ended_at) * 1000000)::bigint END,
           t.id AS parent_attempt, p.id AS parent_run,
           CASE WHEN isfinite(p.started_at) THEN (extract(epoch FROM p.started_at) * 1000000)::bigint END
               AS parent_began,
           p.traceparent AS parent_trace
    FROM workflow_instance i
    LEFT JOIN LATERAL (SELECT project, name FROM workflow_definition WHERE code = i.workflow_code LIMIT 1) AS d ON true
    LEFT JOIN LATERAL (SELECT id, started_at, traceparent FROM workflow_instance
                       WHERE id = i.parent_instance_id LIMIT 1) AS p ON true
    LEFT JOIN LATERAL (SELECT id FROM task_instance
                       WHERE workflow_instance_id = i.parent_instance_id AND task_code = i.parent_task_code
                         AND attempt = i.parent_attempt LIMIT 1) AS t ON true
    WHERE i.id = ANY(CAST(:ids AS bigint[])) AND i.ended_at IS NOT NULL
""")
async def runs(connection: AsyncConnection, ids: Sequence[WorkflowInstanceId]) -> list[EndedRun]:
    """Those of these runs that have ended."""


async def attempts(
    connection: AsyncConnection, run: WorkflowInstanceId, limit: int, after: tuple[int, int] = (0, 0)
) -> tuple[list[EndedAttempt], tuple[int, int] | None]:
    """The ended ones of up to `limit` attempts of a run, and after which to go on; None = there are no more.

    `after` and what it returns are the code of a task and the number of an attempt.
    """
    values = {"run": run, "limit": limit, "code": after[0], "attempt": after[1]}
    rows = (await connection.execute(_ATTEMPTS, values)).all()
    found = [EndedAttempt(*row[:-1]) for row in rows if row[10] is not None]
    return found, (rows[-1].task_code, rows[-1].attempt) if len(rows) == limit else None
