"""The last attempts of the tasks of runs, as their master reads them after a failover."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from dao.postgres.pool import AsyncConnection
from dao.postgres.rows import Row
from dao.postgres.sql import Sql
from dao.runs.code_lists import read_codes
from model.ids import TaskCode, WorkflowInstanceId
from model.runs.instances import TaskAttempt
from model.runs.states import TaskState

ROWS_AT_ONCE = 1_000
"""How many rows are read before other coroutines get a turn."""
_LATEST = Sql("""
    SELECT latest.* FROM unnest(CAST(:instances AS bigint[])) AS wanted (id)
    CROSS JOIN LATERAL (
        SELECT DISTINCT ON (task_code) workflow_instance_id, task_code, attempt, state, retries, flag, outputs, branch,
               ended_at,
               CASE WHEN task_code < 0 OR (state = 'RUNNING_EXECUTION' AND worker_id IS NULL)
                    THEN parameter_values ELSE '{}' END AS parameter_values,
               CASE WHEN state = 'DELAY_EXECUTION' AND isfinite(due_at)
                    THEN least(greatest(extract(epoch FROM due_at - clock_timestamp()) / 60, 0), 1e6)::integer
                    ELSE 0 END AS due_in_minutes,
               CASE WHEN stream IS NOT NULL AND isfinite(ended_at) AND isfinite(started_at)
                    THEN extract(epoch FROM ended_at - started_at)::float8 ELSE 0 END AS ran_s
        FROM task_instance
        WHERE workflow_instance_id = wanted.id                                  -- index: task_instance_attempt
        ORDER BY task_code DESC, attempt DESC                                   -- both, so that it is read backwards
    ) AS latest
    ORDER BY latest.ended_at, latest.task_code
""")


async def latest_attempts(
    connection: AsyncConnection, instances: Sequence[WorkflowInstanceId]
) -> dict[WorkflowInstanceId, list[TaskAttempt]]:
    """The last attempt of each task and element that has begun, by run, in the order in which they ended."""
    found: dict[WorkflowInstanceId, list[TaskAttempt]] = {instance: [] for instance in instances}
    result = await connection.execute(_LATEST, {"instances": list(instances)})
    for number, row in enumerate(result):
        if number % ROWS_AT_ONCE == 0:
            await asyncio.sleep(0)  # a run may have ten thousand tasks, and other coroutines need the loop
        found[row.workflow_instance_id].append(_attempt(row))
    return found


def _attempt(row: Row) -> TaskAttempt:
    return TaskAttempt(
        TaskCode(row.task_code),
        row.attempt,
        TaskState(row.state),
        row.retries,
        row.flag == "YES",
        row.outputs,
        read_codes(row.branch, f"the branch of task {row.task_code} of workflow instance {row.workflow_instance_id}"),
        row.parameter_values,
        row.due_in_minutes,
        ran_s=row.ran_s,
    )
