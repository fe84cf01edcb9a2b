"""How long the runs of workflows, and their tasks, usually take: medians of the last successful ones. Reads only."""

from __future__ import annotations

from collections.abc import Collection

from dao.postgres.pool import AsyncConnection
from dao.postgres.statements import statement
from model.ids import TaskCode, WorkflowCode

RUNS_READ_MAX = 1_000
"""How many of the latest successful runs of a workflow, and of its child runs, are read to find the 20 that count:
others were limited to some tasks, or did no work. `latest_successes` (`sql/schema.sql`) has the same number."""


@statement("""
    SELECT code, percentile_cont(0.5) WITHIN GROUP (ORDER BY took_s)::float8
    FROM latest_successes(CAST(:codes AS bigint[])) GROUP BY code
""")
async def of_runs(connection: AsyncConnection, codes: Collection[WorkflowCode]) -> dict[WorkflowCode, float]:
    """The median of the seconds that the last successful runs of each of these workflows took, from start to end.

    Counted are the latest 20 whole runs; a workflow without any is missing.
    """


@statement("""
    WITH last AS MATERIALIZED (SELECT * FROM latest_successes(ARRAY[CAST(:code AS bigint)]))
    SELECT own.task_code, percentile_cont(0.5) WITHIN GROUP (ORDER BY own.took_s)
    FROM last CROSS JOIN unnest(CAST(:tasks AS bigint[])) AS wanted_task (task_code)
    CROSS JOIN LATERAL (
        SELECT t.task_code, extract(epoch FROM t.ended_at - t.started_at)::float8 AS took_s
        FROM task_instance t                                                    -- index: task_instance_attempt
        WHERE t.workflow_instance_id = last.id AND t.task_code = wanted_task.task_code AND t.state = 'SUCCESS'
          AND isfinite(t.started_at) AND isfinite(t.ended_at) OFFSET 0
    ) AS own
    GROUP BY own.task_code
""")
async def of_tasks(
    connection: AsyncConnection, code: WorkflowCode, tasks: Collection[TaskCode]
) -> dict[TaskCode, float]:
    """The same of the successful attempts of some tasks of a workflow, in those runs."""
