"""What may need a person: runs that run for long, workflows whose last runs failed, schedules that may not fire.

Reads only; each statement reads a bounded number of rows.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import text

from dao.definitions.schedules import COLUMNS_WITH_WORKFLOW
from dao.postgres.engine import AsyncConnection
from model.ids import TaskInstanceId, WorkflowCode, WorkflowInstanceId
from model.schedules import ScheduleRow

RUNNING_MAX = 1_000
FAILED_MAX = 5_000
SCHEDULES_MAX = 1_000
"""So many running runs (the oldest), failed runs (the newest) and schedules (those that are due for longest) are
read."""


@dataclass(frozen=True, slots=True)
class LongRun:
    """A running run that is no child of another."""

    id: WorkflowInstanceId
    code: WorkflowCode
    workflow: str | None
    project: str | None
    started_at: datetime
    elapsed_s: float


@dataclass(frozen=True, slots=True)
class FailedRun:
    """The newest failed run of a workflow that did not succeed since.

    `times` is how many of the workflow's runs that were read failed within the time. `task_id`, `task` are the first
    task of the run that failed; None if none did.
    """

    id: WorkflowInstanceId
    code: WorkflowCode
    workflow: str | None
    project: str | None
    started_at: datetime
    ended_at: datetime
    reason: str | None
    times: int
    task_id: TaskInstanceId | None
    task: str | None
    task_reason: str | None


_VISIBLE = "(CAST(:visible AS text[]) IS NULL OR d.project = ANY(CAST(:visible AS text[])))"
_RUNNING = text(f"""
    SELECT i.id, i.workflow_code, d.name, d.project, i.started_at,
           extract(epoch FROM clock_timestamp() - i.started_at)::float8
    FROM (SELECT r.id, r.workflow_code, r.started_at FROM workflow_instance r   -- index: workflow_instance_by_state
          WHERE (r.parent_instance_id IS NULL) AND r.state = 'RUNNING_EXECUTION'
          ORDER BY (-r.id) DESC LIMIT {RUNNING_MAX}) AS i
    LEFT JOIN workflow_definition d ON d.code = i.workflow_code
    WHERE isfinite(i.started_at) AND i.started_at < clock_timestamp() - interval '1 min' AND {_VISIBLE}
    ORDER BY i.id
""")  # noqa: S608 - the parts are constants of this module
# The task is found for the runs of the answer only.
_FAILED = text(f"""
    WITH failed AS MATERIALIZED (
        SELECT r.id, r.workflow_code, r.started_at, r.ended_at, r.reason
        FROM workflow_instance r                                                -- index: workflow_instance_by_state
        WHERE (r.parent_instance_id IS NULL) AND r.state = 'FAILURE' ORDER BY (-r.id) LIMIT {FAILED_MAX}
    ), recent AS (
        SELECT *, count(*) OVER (PARTITION BY workflow_code) AS times,
               row_number() OVER (PARTITION BY workflow_code ORDER BY id DESC) AS place
        FROM failed WHERE ended_at >= now() - CAST(:within AS interval) AND isfinite(started_at) AND isfinite(ended_at)
    ), last AS (
        SELECT l.*, d.name, d.project FROM recent l LEFT JOIN workflow_definition d ON d.code = l.workflow_code
        WHERE l.place = 1 AND d.is_trial IS NOT TRUE AND {_VISIBLE} AND NOT EXISTS (
            SELECT FROM workflow_instance s                                     -- index: workflow_instance_by_workflow
            WHERE s.workflow_code = l.workflow_code AND (s.parent_instance_id IS NOT NULL) = false
              AND s.state = 'SUCCESS' AND (-s.id) < (-l.id))
        ORDER BY l.id DESC LIMIT :limit
    )
    SELECT l.id, l.workflow_code, l.name, l.project, l.started_at, l.ended_at, l.reason, l.times,
           first.id, first.task_name, first.reason
    FROM last l LEFT JOIN LATERAL (
        SELECT t.id, t.task_name, t.reason FROM task_instance t                 -- index: task_instance_valid
        WHERE t.workflow_instance_id = l.id AND t.flag = 'YES' AND t.state IN ('FAILURE', 'KILL')
        ORDER BY t.ended_at, t.id LIMIT 1) AS first ON true
    ORDER BY l.id DESC
""")  # noqa: S608 - as above
# Schedules are few enough to be read whole where no index has what is asked.
_SCHEDULES = text(f"""
    SELECT now() AS read_at, {COLUMNS_WITH_WORKFLOW} FROM schedule s
    LEFT JOIN workflow_definition d ON d.code = s.workflow_code
    WHERE s.state = 'ONLINE' AND {_VISIBLE}
      AND (s.problem IS NOT NULL OR s.misfire = 'SKIP'
           OR s.next_fire_at < now() - interval '1 min'
           OR s.next_fire_at IS NULL AND s.updated_at < now() - interval '1 min')
    ORDER BY coalesce(s.next_fire_at, 'epoch'), s.id LIMIT {SCHEDULES_MAX}
""")  # noqa: S608 - as above


async def running(connection: AsyncConnection, visible: Collection[str] | None) -> list[LongRun]:
    """The oldest runs that run for more than a minute; `visible`: only of these projects, None = of all."""
    rows = (await connection.execute(_RUNNING, {"visible": _texts(visible)})).all()
    return [LongRun(*row) for row in rows]


async def failed(
    connection: AsyncConnection, within_days: int, visible: Collection[str] | None, limit: int
) -> list[FailedRun]:
    """Up to `limit` workflows without a success since their last failure within some days: the run, newest first."""
    values = {"within": f"{within_days} days", "visible": _texts(visible), "limit": limit}
    return [FailedRun(*row) for row in (await connection.execute(_FAILED, values)).all()]


async def schedules(
    connection: AsyncConnection, visible: Collection[str] | None
) -> tuple[datetime | None, list[ScheduleRow]]:
    """The database's time (None if there are no rows), and the schedules whose fire may have been missed."""
    rows = (await connection.execute(_SCHEDULES, {"visible": _texts(visible)})).all()
    return (rows[0].read_at if rows else None), [ScheduleRow(*row[1:]) for row in rows]


def _texts(visible: Collection[str] | None) -> list[str] | None:
    return None if visible is None else list(visible)
