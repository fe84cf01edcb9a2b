"""What may need a person: runs that run for long, workflows whose last runs failed, schedules that may not fire.

Reads only; each statement reads a bounded number of rows of each workflow.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any

from dao.postgres.pool import AsyncConnection
from dao.postgres.sql import Sql
from dao.postgres.statements import statement
from dao.runs.rows import FailedRun, LongRun
from model.ids import ScheduleId, WorkflowCode
from model.time.schedules import ScheduleRow

# Schedules are few enough to be read whole where no index has what is asked. First what has been due for longest, last
# what has no more fire times. Times as text: an infinite one would otherwise fail the fetch of all.
_UNFIRED = Sql("""
    SELECT now() AS read_at,
           s.id, s.workflow_code, s.crontab, s.time_zone, s.start_time::text, s.end_time::text, s.state, s.misfire,
           s.misfire_grace_s, s.next_fire_at::text, s.last_fire_at::text, s.problem, s.updated_at::text,
           s.counts_from::text, d.name, d.project, s.from_file
    FROM schedule s
    LEFT JOIN workflow_definition d ON d.code = s.workflow_code
    WHERE s.state = 'ONLINE' AND (CAST(:visible AS text[]) IS NULL OR d.project = ANY(CAST(:visible AS text[])))
      AND (s.problem IS NOT NULL OR s.next_fire_at < now() - interval '1 min'
           OR s.next_fire_at IS NULL AND s.updated_at < now() - interval '1 min')
    ORDER BY s.problem IS NOT NULL, s.next_fire_at, s.id LIMIT 1000
""")
_SKIPPING = Sql("""
    SELECT now() AS read_at,
           s.id, s.workflow_code, s.crontab, s.time_zone, s.start_time::text, s.end_time::text, s.state, s.misfire,
           s.misfire_grace_s, s.next_fire_at::text, s.last_fire_at::text, s.problem, s.updated_at::text,
           s.counts_from::text, d.name, d.project, s.from_file
    FROM schedule s
    LEFT JOIN workflow_definition d ON d.code = s.workflow_code
    WHERE s.state = 'ONLINE' AND (CAST(:visible AS text[]) IS NULL OR d.project = ANY(CAST(:visible AS text[])))
      AND s.misfire = 'SKIP' AND s.problem IS NULL
      AND s.next_fire_at >= now() - interval '1 min' AND s.id > :after
    ORDER BY s.id LIMIT 1000
""")


# Workflow by workflow, whose number is bounded: one with very many runs hides no other. No child runs, here and below,
# said by a column, since the planner turns a constant into a condition that the index has not.
@statement("""
    SELECT i.id, d.code, d.name, d.project, i.started_at,
           extract(epoch FROM clock_timestamp() - i.started_at)::float8
    FROM workflow_definition d CROSS JOIN unnest(ARRAY[false]) AS top (is_child) CROSS JOIN LATERAL (
        SELECT r.id, r.started_at FROM workflow_instance r                      -- index: workflow_instance_by_workflow
        WHERE r.workflow_code = d.code AND (r.parent_instance_id IS NOT NULL) = top.is_child
          AND r.state = 'RUNNING_EXECUTION' AND isfinite(r.started_at)
          AND r.started_at < clock_timestamp() - interval '1 min'
        ORDER BY (-r.id) DESC LIMIT :each) AS i
    WHERE (CAST(:visible AS text[]) IS NULL OR d.project = ANY(CAST(:visible AS text[])))
      AND (CAST(:codes AS bigint[]) IS NULL OR d.code = ANY(CAST(:codes AS bigint[])))
    ORDER BY i.id
""")
async def running(
    connection: AsyncConnection,
    each: int,
    codes: Collection[WorkflowCode] | None = None,
    visible: Collection[str] | None = None,
) -> list[LongRun]:
    """Up to `each` runs of each workflow that run for more than a minute: the oldest. Only of these workflows and these
    projects; None = all."""


# Of each workflow the newest 1,000 failed runs are read. The task, and how often it failed, are found for the runs of
# the answer only. No join: it might read all successes.
@statement("""
    WITH last AS MATERIALIZED (
        SELECT d.code, d.name, d.project, top.is_child, f.id, f.version, d.version AS newest_version, f.started_at,
               f.ended_at, f.reason
        FROM workflow_definition d CROSS JOIN unnest(ARRAY[false]) AS top (is_child) CROSS JOIN LATERAL (
            SELECT own.* FROM (
                SELECT r.id, r.workflow_version AS version, r.started_at, r.ended_at, r.reason, (-r.id) AS place
                FROM workflow_instance r                                        -- index: workflow_instance_by_workflow
                WHERE r.workflow_code = d.code AND (r.parent_instance_id IS NOT NULL) = top.is_child
                  AND r.state = 'FAILURE'
                ORDER BY (-r.id) LIMIT 1000) AS own
            WHERE own.ended_at >= now() - make_interval(days => :within_days)
              AND isfinite(own.started_at) AND isfinite(own.ended_at)
            ORDER BY own.place LIMIT 1) AS f
        WHERE NOT d.is_trial AND (CAST(:visible AS text[]) IS NULL OR d.project = ANY(CAST(:visible AS text[])))
          AND (SELECT 1 FROM workflow_instance s                                -- index: workflow_instance_by_workflow
               WHERE s.workflow_code = d.code AND (s.parent_instance_id IS NOT NULL) = top.is_child
                 AND s.state = 'SUCCESS' AND (-s.id) < (-f.id) LIMIT 1) IS NULL
        ORDER BY f.id DESC LIMIT :limit
    )
    SELECT l.id, l.code, l.name, l.project, l.version, l.newest_version, l.started_at, l.ended_at, l.reason,
           all_of_it.times,
           first.id, first.task_name, first.reason
    FROM last l CROSS JOIN LATERAL (
        SELECT count(*) AS times FROM (
            SELECT r.started_at, r.ended_at FROM workflow_instance r            -- index: workflow_instance_by_workflow
            WHERE r.workflow_code = l.code AND (r.parent_instance_id IS NOT NULL) = l.is_child AND r.state = 'FAILURE'
            ORDER BY (-r.id) LIMIT 1000) AS own
        WHERE own.ended_at >= now() - make_interval(days => :within_days)
          AND isfinite(own.started_at) AND isfinite(own.ended_at)) AS all_of_it
    LEFT JOIN LATERAL (
        SELECT t.id, t.task_name, t.reason FROM task_instance t                 -- index: task_instance_valid
        WHERE t.workflow_instance_id = l.id AND t.flag = 'YES' AND t.state IN ('FAILURE', 'KILL')
        ORDER BY t.ended_at, t.id LIMIT 1) AS first ON true
    ORDER BY l.id DESC
""")
async def failed(
    connection: AsyncConnection, within_days: int, visible: Collection[str] | None, limit: int
) -> list[FailedRun]:
    """Up to `limit` workflows without a success since their last failure within some days: the run, newest first."""


async def unfired(
    connection: AsyncConnection, visible: Collection[str] | None
) -> tuple[datetime | None, list[ScheduleRow]]:
    """The database's time (None if there are no rows), and the schedules that nobody fired."""
    return _read((await connection.execute(_UNFIRED, {"visible": _texts(visible)})).all())


async def skipping(
    connection: AsyncConnection, visible: Collection[str] | None, after: ScheduleId
) -> tuple[datetime | None, list[ScheduleRow]]:
    """The same of those with a later fire to come that may have skipped some; up to 1,000 with ids beyond `after`."""
    return _read((await connection.execute(_SKIPPING, {"visible": _texts(visible), "after": after})).all())


def _read(rows: Sequence[Any]) -> tuple[datetime | None, list[ScheduleRow]]:
    return (rows[0].read_at if rows else None), [ScheduleRow(*row[1:]) for row in rows]


def _texts(visible: Collection[str] | None) -> list[str] | None:
    return None if visible is None else list(visible)
