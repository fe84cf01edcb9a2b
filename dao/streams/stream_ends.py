"""What a master needs to know of an attempt of a stream that ended, and the attempts that are too old to be kept."""

from __future__ import annotations

from collections.abc import Sequence

from dao.postgres.database import FencedTransaction
from dao.postgres.pool import AsyncConnection
from dao.postgres.statements import changing, statement
from model.changes import Changes
from model.ids import Epoch, TaskCode, WorkflowInstanceId

Attempt = tuple[WorkflowInstanceId, TaskCode, int]
"""A run, a task of it, and the number of an attempt."""


@statement("""
    SELECT t.workflow_instance_id, t.task_code, t.attempt,
           extract(epoch FROM t.ended_at - t.started_at)::float8 AS ran_s
    FROM unnest(CAST(:attempts.0 AS bigint[]), CAST(:attempts.1 AS bigint[]), CAST(:attempts.2 AS integer[]))
         AS n (run, code, attempt)
    JOIN task_instance t ON t.workflow_instance_id = n.run AND t.task_code = n.code AND t.attempt = n.attempt
    WHERE isfinite(t.ended_at) AND isfinite(t.started_at)                           -- index: task_instance_attempt
""")
async def ran_s(connection: AsyncConnection, attempts: Sequence[Attempt]) -> dict[Attempt, float]:
    """For how many seconds each of these attempts ran; one that did not run is missing."""


@changing(lambda last_old: Changes(tasks={run for run, _, _ in last_old}))
@statement("""
    WITH old AS (
        DELETE FROM task_instance t
        USING unnest(CAST(:last_old.0 AS bigint[]), CAST(:last_old.1 AS bigint[]), CAST(:last_old.2 AS integer[]))
              AS n (run, code, attempt)
        JOIN workflow_instance i ON i.id = n.run AND coalesce(i.master_id = :master, false)
        WHERE t.workflow_instance_id = n.run AND t.task_code = n.code               -- index: task_instance_attempt
          AND t.attempt <= n.attempt AND t.flag = 'NO' AND t.ended_at IS NOT NULL
        RETURNING t.id
    )
    DELETE FROM stored_log WHERE task_instance_id = ANY(ARRAY(SELECT id FROM old))  -- index: stored_log_pkey
""")
async def delete_old(connection: FencedTransaction, last_old: Sequence[Attempt], master: Epoch) -> None:
    """Delete these attempts of own runs and those before them, as far as they have ended and do not count."""
