"""The last runs of workflows, and the tasks in them, for people who compare them. Reads only.

The last ones are those of the latest times that runs are for (`schedule_time`): a backfill of a past date is not last.
"""

from __future__ import annotations

from collections.abc import Collection

from dao.postgres.pool import AsyncConnection
from dao.postgres.statements import statement
from dao.runs.rows import Cell, LastRun
from model.ids import WorkflowCode, WorkflowInstanceId


# Those that have not ended are taken until now. Times that are infinite have no distance.
@statement("""
    SELECT wanted.code, r.id, r.workflow_version, r.state, r.started_at,
           CASE WHEN isfinite(r.started_at) AND isfinite(coalesce(r.ended_at, now()))
                THEN extract(epoch FROM coalesce(r.ended_at, clock_timestamp()) - r.started_at)::float8 END
    FROM unnest(CAST(:codes AS bigint[])) AS wanted (code)
    CROSS JOIN LATERAL (
        SELECT i.id, i.workflow_version, i.state, i.started_at, i.ended_at, i.schedule_time
        FROM workflow_instance i WHERE i.workflow_code = wanted.code
        ORDER BY i.workflow_code DESC, i.schedule_time DESC LIMIT :each                 -- index: workflow_instance_time
    ) AS r
    ORDER BY wanted.code, r.schedule_time, r.id
""")
async def last_runs(connection: AsyncConnection, codes: Collection[WorkflowCode], each: int) -> list[LastRun]:
    """Up to `each` of the last runs of each of these workflows, by code, the oldest first."""


@statement("""
    SELECT own.* FROM unnest(CAST(:runs AS bigint[])) AS wanted (run)
    CROSS JOIN LATERAL (
        SELECT t.workflow_instance_id, t.id, t.task_code, t.task_name, t.attempt, t.state,
               CASE WHEN isfinite(t.started_at) AND isfinite(coalesce(t.ended_at, now()))
                    THEN extract(epoch FROM coalesce(t.ended_at, clock_timestamp()) - t.started_at)::float8 END
        FROM task_instance t                                                            -- index: task_instance_valid
        WHERE t.workflow_instance_id = wanted.run AND t.task_code > 0 AND t.flag = 'YES' OFFSET 0
    ) AS own
    ORDER BY own.workflow_instance_id, own.task_code LIMIT :limit
""")
async def cells(connection: AsyncConnection, runs: Collection[WorkflowInstanceId], limit: int) -> list[Cell]:
    """Up to `limit` of the valid attempts of all tasks of these runs, by run and task."""
