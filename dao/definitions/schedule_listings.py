"""Listings of schedules for people. Reads only."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from dao.postgres.pool import AsyncConnection
from dao.postgres.statements import statement
from model.choices import ReleaseState
from model.time.schedules import ScheduleRow


@dataclass(frozen=True)
class ScheduleFilter:
    """Which schedules are wanted, by their workflows and their state; None = any."""

    project: str | None = None
    workflow: str | None = None
    """The name of their workflow."""
    state: ReleaseState | None = None
    visible: Collection[str] | None = None
    """Only those of workflows of these projects."""


ALL = ScheduleFilter()


# A listing of all goes by the primary key and stops at its limit. Without a workflow (LEFT JOIN) only those are listed
# who may see everything. Times as text: an infinite one would otherwise fail the fetch of all.
@statement("""
    SELECT s.id, s.workflow_code, s.crontab, s.time_zone, s.start_time::text, s.end_time::text, s.state, s.misfire,
           s.misfire_grace_s, s.next_fire_at::text, s.last_fire_at::text, s.problem, s.updated_at::text,
           s.counts_from::text, d.name, d.project, s.from_file
    FROM schedule s LEFT JOIN workflow_definition d ON d.code = s.workflow_code
    WHERE s.id > :after                                                     -- index: schedule_pkey
      AND (CAST(:wanted.project AS text) IS NULL OR d.project = :wanted.project)
      AND (CAST(:wanted.workflow AS text) IS NULL OR d.name = :wanted.workflow)
      AND (CAST(:wanted.state AS text) IS NULL OR s.state = :wanted.state)
      AND (CAST(:wanted.visible AS text[]) IS NULL OR d.project = ANY(CAST(:wanted.visible AS text[])))
    ORDER BY s.id LIMIT :limit
""")
async def page(
    connection: AsyncConnection, limit: int, wanted: ScheduleFilter = ALL, after: int = 0
) -> list[ScheduleRow]:
    """Up to `limit` schedules with an id above `after`, by id."""


# The next fires of all are fires of those that are due first: no more schedules than fires have to be read.
@statement("""
    SELECT s.id, s.workflow_code, s.crontab, s.time_zone, s.start_time::text, s.end_time::text, s.state, s.misfire,
           s.misfire_grace_s, s.next_fire_at::text, s.last_fire_at::text, s.problem, s.updated_at::text,
           s.counts_from::text, d.name, d.project, s.from_file
    FROM schedule s LEFT JOIN workflow_definition d ON d.code = s.workflow_code
    WHERE s.state = 'ONLINE' AND s.problem IS NULL                          -- index: schedule_due
      AND (CAST(:wanted.project AS text) IS NULL OR d.project = :wanted.project)
      AND (CAST(:wanted.workflow AS text) IS NULL OR d.name = :wanted.workflow)
      AND (CAST(:wanted.state AS text) IS NULL OR s.state = :wanted.state)
      AND (CAST(:wanted.visible AS text[]) IS NULL OR d.project = ANY(CAST(:wanted.visible AS text[])))
    ORDER BY coalesce(s.next_fire_at, 'epoch'), s.id LIMIT :limit
""")
async def upcoming(connection: AsyncConnection, limit: int, wanted: ScheduleFilter = ALL) -> list[ScheduleRow]:
    """Up to `limit` schedules that fire, the one that is due next first; first of all those not computed yet."""
