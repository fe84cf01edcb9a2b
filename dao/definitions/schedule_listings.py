"""Listings of schedules for people. Reads only."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from sqlalchemy import text

from dao.postgres.engine import AsyncConnection
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
_PAGE = """
    SELECT s.id, s.workflow_code, s.crontab, s.time_zone, s.start_time::text, s.end_time::text, s.state, s.misfire,
           s.misfire_grace_s, s.next_fire_at::text, s.last_fire_at::text, s.problem, s.updated_at::text,
           s.counts_from::text, d.name, d.project, s.from_file
    FROM schedule s LEFT JOIN workflow_definition d ON d.code = s.workflow_code
    WHERE s.id > :after{conditions} ORDER BY s.id LIMIT :limit              -- index: schedule_pkey
"""
# The next fires of all are fires of those that are due first: no more schedules than fires have to be read.
_UPCOMING = """
    SELECT s.id, s.workflow_code, s.crontab, s.time_zone, s.start_time::text, s.end_time::text, s.state, s.misfire,
           s.misfire_grace_s, s.next_fire_at::text, s.last_fire_at::text, s.problem, s.updated_at::text,
           s.counts_from::text, d.name, d.project, s.from_file
    FROM schedule s LEFT JOIN workflow_definition d ON d.code = s.workflow_code
    WHERE s.state = 'ONLINE' AND s.problem IS NULL{conditions}              -- index: schedule_due
    ORDER BY coalesce(s.next_fire_at, 'epoch'), s.id LIMIT :limit
"""
_CONDITIONS = {
    "project": "d.project = :project",
    "workflow": "d.name = :workflow",
    "state": "s.state = :state",
    "visible": "d.project = ANY(CAST(:visible AS text[]))",
}


async def page(
    connection: AsyncConnection, limit: int, wanted: ScheduleFilter = ALL, after: int = 0
) -> list[ScheduleRow]:
    """Up to `limit` schedules with an id above `after`, by id."""
    return await _found(connection, _PAGE, {"limit": limit, "after": after}, wanted)


async def upcoming(connection: AsyncConnection, limit: int, wanted: ScheduleFilter = ALL) -> list[ScheduleRow]:
    """Up to `limit` schedules that fire, the one that is due next first; first of all those not computed yet."""
    return await _found(connection, _UPCOMING, {"limit": limit}, wanted)


async def _found(
    connection: AsyncConnection, statement: str, values: Mapping[str, object], wanted: ScheduleFilter
) -> list[ScheduleRow]:
    given = {name: value for name, value in vars(wanted).items() if value is not None}
    if wanted.visible is not None:
        given["visible"] = list(wanted.visible)
    conditions = "".join(f" AND {_CONDITIONS[name]}" for name in given)
    filled = text(statement.format(conditions=conditions))
    return [ScheduleRow(*row) for row in (await connection.execute(filled, {**values, **given})).all()]
