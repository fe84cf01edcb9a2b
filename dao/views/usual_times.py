"""How long the runs of workflows, and their tasks, usually take: medians of the last successful ones. Reads only."""

from __future__ import annotations

from collections.abc import Collection

from sqlalchemy import text

from dao.postgres.engine import AsyncConnection
from model.ids import TaskCode, WorkflowCode

RUNS_READ_MAX = 1_000
"""How many of the latest successful runs of a workflow, and of its child runs, are read to find the 20 that count:
others were limited to some tasks, or did no work. `_LAST` has the same number."""

# Runs and child runs apart, by a column: the planner turns a constant into a condition that the index has not. Times
# that are infinite have no distance.
_LAST = """
    SELECT r.id, r.code, r.took_s FROM unnest(CAST(:codes AS bigint[])) AS wanted (code)
    CROSS JOIN LATERAL (
        SELECT half.id, wanted.code, half.took_s
        FROM unnest(ARRAY[false, true]) AS of (is_child) CROSS JOIN LATERAL (
            SELECT latest.id, extract(epoch FROM latest.ended_at - latest.started_at)::float8 AS took_s
            FROM (SELECT i.id, (-i.id) AS place, i.started_at, i.ended_at, i.scope, i.executing, i.dry_run
                  FROM workflow_instance i                                  -- index: workflow_instance_by_workflow
                  WHERE i.workflow_code = wanted.code AND (i.parent_instance_id IS NOT NULL) = of.is_child
                    AND i.state = 'SUCCESS'
                  ORDER BY (-i.id) LIMIT 1000) AS latest
            WHERE latest.scope IS NULL AND latest.executing IS NULL AND NOT latest.dry_run
              AND isfinite(latest.started_at) AND isfinite(latest.ended_at)
            ORDER BY latest.place LIMIT 20) AS half
        ORDER BY half.id DESC LIMIT 20
    ) AS r
"""
_OF_RUNS = text(f"""
    WITH last AS ({_LAST})
    SELECT code, percentile_cont(0.5) WITHIN GROUP (ORDER BY took_s) FROM last GROUP BY code
""")
_OF_TASKS = text(f"""
    WITH last AS MATERIALIZED ({_LAST})
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


async def of_runs(connection: AsyncConnection, codes: Collection[WorkflowCode]) -> dict[WorkflowCode, float]:
    """The median of the seconds that the last successful runs of each of these workflows took, from start to end.

    Counted are the latest 20 whole runs; a workflow without any is missing.
    """
    rows = (await connection.execute(_OF_RUNS, {"codes": list(set(codes))})).all()
    return {WorkflowCode(code): float(median_s) for code, median_s in rows}


async def of_tasks(
    connection: AsyncConnection, code: WorkflowCode, tasks: Collection[TaskCode]
) -> dict[TaskCode, float]:
    """The same of the successful attempts of some tasks of a workflow, in those runs."""
    rows = (await connection.execute(_OF_TASKS, {"codes": [code], "tasks": list(set(tasks))})).all()
    return {TaskCode(task): float(median_s) for task, median_s in rows}
