"""Streams for people: those of a run, which of them are restarted, and the worker groups with any. Reads only."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from dao.postgres.pool import AsyncConnection
from dao.postgres.statements import statement
from model.ids import TaskCode, WorkflowInstanceId


class OpenRestart(NamedTuple):
    """A stream that is to be restarted, by whom; `has_begun`: its turn has come, and it is not ready again."""

    code: TaskCode
    asked_by: str
    has_begun: bool


@statement("""
    SELECT workflow_instance_id, task_code, asked_by, begun_at IS NOT NULL AS has_begun FROM stream_restart
    WHERE workflow_instance_id = ANY(CAST(:runs AS bigint[]))                       -- index: stream_restart_pkey
    ORDER BY workflow_instance_id, task_code
""")
async def restarts(
    connection: AsyncConnection, runs: Sequence[WorkflowInstanceId]
) -> dict[WorkflowInstanceId, list[OpenRestart]]:
    """The streams of these runs that are restarted one after the other, in their order."""


@statement("""
    SELECT task_name, task_code FROM task_instance
    WHERE workflow_instance_id = :run AND flag = 'YES' AND stream IS NOT NULL       -- index: task_instance_attempt
      AND state IN ('DELAY_EXECUTION', 'QUEUED', 'DISPATCH', 'RUNNING_EXECUTION')
    ORDER BY task_code
""")
async def of_run(connection: AsyncConnection, run: WorkflowInstanceId) -> dict[str, TaskCode]:
    """The streams of a run that run, wait or pause, by the names of their tasks."""


@statement("""
    WITH RECURSIVE below (id) AS (                                                  -- index: workflow_instance_child
        SELECT c.id FROM workflow_instance c WHERE c.parent_instance_id = :run AND c.ended_at IS NULL
        UNION
        SELECT c.id FROM below b JOIN workflow_instance c ON c.parent_instance_id = b.id WHERE c.ended_at IS NULL
    )
    SELECT b.id FROM below b
    WHERE EXISTS (SELECT FROM task_instance t                                       -- index: task_instance_attempt
                  WHERE t.workflow_instance_id = b.id AND t.flag = 'YES' AND t.stream IS NOT NULL
                    AND t.state IN ('DELAY_EXECUTION', 'QUEUED', 'DISPATCH', 'RUNNING_EXECUTION'))
    ORDER BY b.id LIMIT :limit
""")
async def runs_below(connection: AsyncConnection, run: WorkflowInstanceId, limit: int) -> list[WorkflowInstanceId]:
    """Up to `limit` runs below this one that have streams which run, wait or pause."""


@statement("""
    SELECT worker_group, count(*) AS streams FROM task_instance
    WHERE stream IS NOT NULL AND state IN ('QUEUED', 'DISPATCH', 'RUNNING_EXECUTION')   -- index: task_instance_stream
    GROUP BY worker_group ORDER BY worker_group
""")
async def by_group(connection: AsyncConnection) -> dict[str, int]:
    """How many streams wait or run in each worker group."""
