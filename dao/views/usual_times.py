"""How long the runs of workflows, and their tasks, usually take: medians of the last successful ones. Reads only."""

from __future__ import annotations

from collections.abc import Collection

from sqlalchemy import text

from dao.postgres.engine import AsyncConnection
from model.ids import TaskCode, WorkflowCode

RUNS_COUNTED = 20
RUNS_READ_MAX = 1_000
"""How many of the latest runs of a workflow are read to find them: others run, failed, or were limited to some
tasks."""

# Times that are infinite have no distance.
_LAST = f"""
    SELECT r.id, r.code, r.took_s FROM unnest(CAST(:codes AS bigint[])) AS wanted (code)
    CROSS JOIN LATERAL (
        SELECT latest.id, wanted.code, extract(epoch FROM latest.ended_at - latest.started_at)::float8 AS took_s
        FROM (SELECT i.id, i.state, i.schedule_time, i.started_at, i.ended_at, i.scope, i.executing, i.dry_run
              FROM workflow_instance i WHERE i.workflow_code = wanted.code
              ORDER BY i.workflow_code DESC, i.schedule_time DESC           -- index: workflow_instance_time
              LIMIT {RUNS_READ_MAX}) AS latest
        WHERE latest.state = 'SUCCESS' AND latest.scope IS NULL AND latest.executing IS NULL AND NOT latest.dry_run
          AND isfinite(latest.started_at) AND isfinite(latest.ended_at)
        ORDER BY latest.schedule_time DESC LIMIT {RUNS_COUNTED}
    ) AS r
"""  # noqa: S608 - the parts are constants of this module
_OF_RUNS = text(f"""
    WITH last AS ({_LAST})
    SELECT code, percentile_cont(0.5) WITHIN GROUP (ORDER BY took_s) FROM last GROUP BY code
""")  # noqa: S608 - the part is a constant of this module
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
""")  # noqa: S608 - the part is a constant of this module


async def of_runs(connection: AsyncConnection, codes: Collection[WorkflowCode]) -> dict[WorkflowCode, float]:
    """The median of the seconds that the last successful runs of each of these workflows took, from start to end.

    Counted are up to 20 whole runs among the latest 1,000 by schedule time; a workflow without any is missing.
    """
    rows = (await connection.execute(_OF_RUNS, {"codes": list(set(codes))})).all()
    return {WorkflowCode(code): float(median_s) for code, median_s in rows}


async def of_tasks(
    connection: AsyncConnection, code: WorkflowCode, tasks: Collection[TaskCode]
) -> dict[TaskCode, float]:
    """The same of the successful attempts of some tasks of a workflow, in those runs."""
    rows = (await connection.execute(_OF_TASKS, {"codes": [code], "tasks": list(set(tasks))})).all()
    return {TaskCode(task): float(median_s) for task, median_s in rows}
