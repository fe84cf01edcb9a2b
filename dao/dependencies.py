"""DEPENDENT tasks that wait, and the runs and tasks of other workflows for which they do."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

from dao.notify import DEPENDENCY, notify
from model.ids import Epoch, TaskInstanceId, WorkflowCode
from model.states import TaskState, WorkflowState


@dataclass(frozen=True, slots=True)
class WaitingTask:
    """A DEPENDENT task of this master; `params` is JSON text, `waited_s` reckoned by the database's clock."""

    id: TaskInstanceId
    params: str
    project: str
    schedule_time: datetime
    time_zone: str
    waited_s: float
    timeout_s: float | None
    timeout_strategy: str | None


@dataclass(frozen=True, slots=True)
class Span:
    """Where to look: the latest run of a workflow with a schedule time in [begin, end), and a task of it if named."""

    workflow_code: WorkflowCode
    begin: datetime
    end: datetime
    task: str | None = None


@dataclass(frozen=True, slots=True)
class Found:
    """What stands there: the run's state, the state of its task if one was named and has begun, and whether any valid
    task of it failed."""

    state: WorkflowState
    task: TaskState | None
    any_failed: bool


@dataclass(frozen=True, slots=True)
class DependentEnd:
    """How a DEPENDENT task ended."""

    id: TaskInstanceId
    state: TaskState
    reason: str


_WAITING = text("""
    SELECT t.id, t.params, coalesce(d.project, 'default') AS project, i.schedule_time, i.time_zone,
           extract(epoch FROM clock_timestamp() - t.started_at)::float8 AS waited_s, t.timeout_s, t.timeout_strategy
    FROM task_instance t                                                       -- index: task_instance_dependent
    JOIN workflow_instance i ON i.id = t.workflow_instance_id AND i.master_id = :master
    LEFT JOIN workflow_definition d ON d.code = i.workflow_code
    WHERE t.state = 'RUNNING_EXECUTION' AND t.task_type = 'DEPENDENT' AND t.id > :after
    ORDER BY t.id LIMIT :limit
""")
_CODES = text("""
    SELECT d.code, d.project, d.name FROM workflow_definition d
    JOIN unnest(CAST(:projects AS text[]), CAST(:names AS text[])) AS w (project, name)
      ON d.project = w.project AND d.name = w.name
""")
# Dry runs did nothing that anybody could depend on.
_FIND = text("""
    SELECT w.place, run.state,
           (SELECT t.state FROM task_instance t
            WHERE t.workflow_instance_id = run.id AND t.task_name = w.task AND t.flag = 'YES'
            ORDER BY t.attempt DESC LIMIT 1) AS task,
           CASE WHEN w.task IS NULL THEN false ELSE EXISTS (
               SELECT FROM task_instance t WHERE t.workflow_instance_id = run.id AND t.flag = 'YES'
                 AND t.state IN ('FAILURE', 'KILL', 'PAUSE', 'NEED_FAULT_TOLERANCE')
                 AND NOT EXISTS (SELECT FROM task_instance later
                                 WHERE later.workflow_instance_id = t.workflow_instance_id
                                   AND later.task_code = t.task_code AND later.attempt > t.attempt)) END AS any_failed
    FROM unnest(CAST(:codes AS bigint[]), CAST(:begins AS timestamptz[]), CAST(:ends AS timestamptz[]),
                CAST(:tasks AS text[])) WITH ORDINALITY AS w (code, begin_at, end_at, task, place)
    CROSS JOIN LATERAL (
        SELECT i.id, i.state FROM workflow_instance i                          -- index: workflow_instance_time
        WHERE i.workflow_code = w.code AND i.schedule_time >= w.begin_at AND i.schedule_time < w.end_at
          AND NOT i.dry_run
        ORDER BY i.schedule_time DESC, i.id DESC LIMIT 1
    ) AS run
""")
_END = text("""
    WITH ended AS (
        UPDATE task_instance t SET state = e.state, ended_at = clock_timestamp(), reason = e.reason
        FROM unnest(CAST(:ids AS bigint[]), CAST(:states AS text[]), CAST(:reasons AS text[])) AS e (id, state, reason),
             workflow_instance i
        WHERE t.id = e.id AND t.state = 'RUNNING_EXECUTION' AND i.id = t.workflow_instance_id AND i.master_id = :master
        RETURNING t.workflow_instance_id, t.task_code, t.attempt, t.state
    ), told AS (
        INSERT INTO task_event (workflow_instance_id, task_code, attempt, state)
        SELECT workflow_instance_id, task_code, attempt, state FROM ended
    )
    SELECT count(*) FROM ended
""")


async def waiting(connection: AsyncConnection, master: Epoch, limit: int, after: TaskInstanceId) -> list[WaitingTask]:
    """Up to `limit` DEPENDENT tasks of this master's instances that wait, oldest first, those after `after`."""
    rows = (await connection.execute(_WAITING, {"master": master, "limit": limit, "after": after})).all()
    return [WaitingTask(TaskInstanceId(row.id), *row[1:]) for row in rows]


async def codes(
    connection: AsyncConnection, names: Collection[tuple[str, str]]
) -> Mapping[tuple[str, str], WorkflowCode]:
    """The workflows of these (project, name); those that do not exist are missing."""
    values = {"projects": [project for project, _ in names], "names": [name for _, name in names]}
    rows = (await connection.execute(_CODES, values)).all()
    return {(row.project, row.name): WorkflowCode(row.code) for row in rows}


async def find(connection: AsyncConnection, spans: Sequence[Span]) -> dict[Span, Found]:
    """What stands in each of these spans; one in which nothing does is missing."""
    values = {
        "codes": [span.workflow_code for span in spans],
        "begins": [span.begin for span in spans],
        "ends": [span.end for span in spans],
        "tasks": [span.task for span in spans],
    }
    rows = (await connection.execute(_FIND, values)).all()
    return {
        spans[row.place - 1]: Found(
            WorkflowState(row.state), None if row.task is None else TaskState(row.task), row.any_failed
        )
        for row in rows
    }


async def end(connection: AsyncConnection, ends: Sequence[DependentEnd], master: Epoch) -> int:
    """Write the ends of own DEPENDENT tasks that still wait, and tell their owner. How many there were."""
    values = {
        "ids": [each.id for each in ends],
        "states": [each.state for each in ends],
        "reasons": [each.reason for each in ends],
        "master": master,
    }
    return int((await connection.execute(_END, values)).scalar_one())


async def wake(connection: AsyncConnection) -> None:
    """Something ended for which a DEPENDENT task may wait."""
    await notify(connection, DEPENDENCY)
