"""Relations of a run: the children of its tasks, and the runs before it in its serial line."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from dao.postgres.pool import AsyncConnection
from dao.postgres.sql import Sql
from dao.postgres.statements import statement
from dao.runs.rows import OlderBelow
from model.ids import TaskCode, TaskInstanceId, WorkflowInstanceId
from model.runs.states import WorkflowState


@dataclass(frozen=True, slots=True)
class ChildRun:
    """A child of an attempt of a task. `workflow` and `project` are None when its definition no longer exists."""

    id: WorkflowInstanceId
    project: str | None
    workflow: str | None
    state: WorkflowState
    code: TaskCode
    attempt: int
    index: int


@dataclass(frozen=True, slots=True)
class FailedBelow:
    """The task (its name, and the `id` of its attempt) of a `run` below, for which an attempt of a task (`code`) of the
    run above failed. `project` is that of the run below."""

    code: TaskCode
    attempt: int
    run: WorkflowInstanceId
    id: TaskInstanceId
    task: str
    reason: str | None
    project: str | None


# The version that decides is the current one.
_MAX_ACTIVE = Sql("""
    SELECT i.id, v.max_active FROM workflow_instance i                             -- index: workflow_version_pkey
    JOIN workflow_definition d ON d.code = i.workflow_code
    JOIN workflow_version v ON v.workflow_code = d.code AND v.version = d.version
    WHERE i.id = ANY(CAST(:runs AS bigint[]))
""")


@statement("""
    SELECT c.parent_instance_id, c.id, d.project, d.name, c.state, c.parent_task_code, c.parent_attempt, c.child_index
    FROM workflow_instance c LEFT JOIN workflow_definition d ON d.code = c.workflow_code
    WHERE c.parent_instance_id = ANY(CAST(:runs AS bigint[]))                      -- index: workflow_instance_child
    ORDER BY c.parent_instance_id, c.parent_task_code, c.parent_attempt, c.child_index
""")
async def children(
    connection: AsyncConnection, runs: Collection[WorkflowInstanceId]
) -> dict[WorkflowInstanceId, list[ChildRun]]:
    """The children of each of these runs, by task, attempt and index."""


# UNION, not UNION ALL: rows written by hand may stand under each other. OFFSET 0: each run by itself, since a join
# could read all tasks in the history.
@statement("""
    WITH RECURSIVE failed AS (
        SELECT c.parent_task_code AS code, c.parent_attempt AS attempt, c.id FROM workflow_instance c
        WHERE c.parent_instance_id = :run AND c.state = 'FAILURE'                  -- index: workflow_instance_child
        UNION
        SELECT f.code, f.attempt, below.id FROM failed f CROSS JOIN LATERAL (
            SELECT c.id FROM workflow_instance c                                   -- index: workflow_instance_child
            WHERE c.parent_instance_id = f.id AND c.state = 'FAILURE' OFFSET 0) AS below
    )
    SELECT DISTINCT ON (f.code, f.attempt) f.code, f.attempt, f.id AS run, t.id, t.task_name, t.reason,
           (SELECT d.project FROM workflow_instance i JOIN workflow_definition d ON d.code = i.workflow_code
            WHERE i.id = f.id)
    FROM failed f CROSS JOIN LATERAL (
        SELECT id, task_name, task_type, reason FROM task_instance                 -- index: task_instance_attempt
        WHERE workflow_instance_id = f.id AND state = 'FAILURE' AND flag = 'YES' OFFSET 0) AS t
    WHERE f.code IS NOT NULL AND f.attempt IS NOT NULL
    ORDER BY f.code, f.attempt, t.task_type IN ('SUB_PROCESS', 'DYNAMIC'), f.id, t.id
""")
async def failures_below(connection: AsyncConnection, run: WorkflowInstanceId) -> list[FailedBelow]:
    """For each attempt of a run whose child run failed, the first task that failed at the bottom of it."""


# Of attempts that count: what a task had before is not gone on with.
@statement("""
    WITH RECURSIVE below AS (
        SELECT CAST(:run AS bigint) AS id
        UNION
        SELECT one.id FROM below b CROSS JOIN LATERAL (
            SELECT c.id FROM workflow_instance c                                   -- index: workflow_instance_child
            WHERE c.parent_instance_id = b.id AND coalesce(c.state IN ('FAILURE', 'PAUSE', 'STOP'), false)
              AND EXISTS (SELECT FROM task_instance t                              -- index: task_instance_attempt
                          WHERE t.workflow_instance_id = b.id AND t.task_code = c.parent_task_code
                            AND t.attempt = c.parent_attempt AND t.flag = 'YES') OFFSET 0) AS one
    )
    SELECT c.id, d.name, c.workflow_version, d.version
    FROM below b JOIN workflow_instance c ON c.id = b.id JOIN workflow_definition d ON d.code = c.workflow_code
    WHERE b.id <> :run AND d.version > c.workflow_version
      AND (CAST(:visible AS text[]) IS NULL OR d.project = ANY(CAST(:visible AS text[])))
    ORDER BY c.id LIMIT :most
""")
async def older_below(
    connection: AsyncConnection, run: WorkflowInstanceId, visible: Collection[str] | None, most: int
) -> list[OlderBelow]:
    """The runs below that a rerun of what failed goes on with, in a version that is not the newest; at most so many.

    Args:
        visible: the projects of which they may be; None = any.
    """


# A waiting run's place in its line is the expression of the index.
@statement("""
    SELECT i.id, other.id, other.state FROM workflow_instance i CROSS JOIN LATERAL (
        SELECT id, state, 0 AS place FROM workflow_instance                        -- index: workflow_instance_line
        WHERE workflow_code = i.workflow_code AND serial_key = i.serial_key AND id <> i.id
          AND (state IN ('SUCCESS', 'FAILURE', 'PAUSE', 'STOP', 'SERIAL_WAIT')) IS NOT TRUE
        UNION ALL
        SELECT id, state, (CASE WHEN serial_key = '' THEN id ELSE command_id END) FROM workflow_instance
        WHERE workflow_code = i.workflow_code AND serial_key = i.serial_key        -- index: workflow_instance_turn
          AND state = 'SERIAL_WAIT'
          AND (CASE WHEN serial_key = '' THEN id ELSE command_id END)
              < CASE WHEN i.serial_key = '' THEN i.id ELSE i.command_id END
    ) AS other
    WHERE i.id = ANY(CAST(:runs AS bigint[])) ORDER BY other.place, other.id
""")
async def before(
    connection: AsyncConnection, runs: Collection[WorkflowInstanceId]
) -> dict[WorkflowInstanceId, list[tuple[WorkflowInstanceId, WorkflowState]]]:
    """The runs of the same workflow that must end before each of these waiting ones continues; oldest first."""


async def max_active(
    connection: AsyncConnection, runs: Collection[WorkflowInstanceId]
) -> dict[WorkflowInstanceId, int]:
    """How many runs go on at once in the line of each of these."""
    rows = (await connection.execute(_MAX_ACTIVE, {"runs": list(runs)})).all()
    return dict.fromkeys(runs, 1) | {WorkflowInstanceId(id_): count for id_, count in rows}
