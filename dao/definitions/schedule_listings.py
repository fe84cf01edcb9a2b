"""Listings of schedules for people. Reads only."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from sqlalchemy import text

from dao.postgres.engine import AsyncConnection
from model.choices import ReleaseState
from model.time.schedules import ScheduleRow

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
    connection: AsyncConnection,
    limit: int,
    *,
    after: int = 0,
    project: str | None = None,
    workflow: str | None = None,
    state: ReleaseState | None = None,
    visible: Collection[str] | None = None,
) -> list[ScheduleRow]:
    """Up to `limit` schedules with an id above `after`, by id.

    Args:
        project: only those of workflows of this project.
        workflow: only those of workflows with this name.
        state: only those in it.
        visible: only those of workflows of these projects; None = of all.
    """
    given = {
        "project": project,
        "workflow": workflow,
        "state": state,
        "visible": visible,
    }
    return await _found(connection, _PAGE, {"limit": limit, "after": after}, given)


async def upcoming(
    connection: AsyncConnection, limit: int, *, project: str | None = None, visible: Collection[str] | None = None
) -> list[ScheduleRow]:
    """Up to `limit` schedules that fire, the one that is due next first; first of all those not computed yet."""
    return await _found(
        connection,
        _UPCOMING,
        {"limit": limit},
        {"project": project, "visible": visible},
    )


async def _found(
    connection: AsyncConnection, statement: str, values: Mapping[str, object], given: Mapping[str, Any]
) -> list[ScheduleRow]:
    given = {name: list(value) if name == "visible" else value for name, value in given.items() if value is not None}
    conditions = "".join(f" AND {_CONDITIONS[name]}" for name in given)
    filled = text(statement.format(conditions=conditions))
    return [ScheduleRow(*row) for row in (await connection.execute(filled, {**values, **given})).all()]
