"""The dates of a backfill: those of the workflow's schedule, or those that are given."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from functools import partial

from dao.definitions import schedules
from dao.postgres.pool import AsyncConnection
from model.choices import ReleaseState
from model.ids import WorkflowCode
from model.runs.backfill import BackfillSpec, FireTimes, chains
from model.time.cron import Cron
from model.time.moments import begin_of
from model.time.schedules import ScheduleRow
from model.time.zones import zone


async def dates_of(
    connection: AsyncConnection, code: WorkflowCode, own_zone: str, spec: BackfillSpec, given_zone: str | None = None
) -> tuple[str, list[list[datetime]]]:
    """The time zone of the dates (as given, that of the schedule, or the workflow's own), and the chains.

    Raises `Refused` if the dates, or the workflow's schedule, cannot be read.
    """
    schedule = _schedule(await schedules.of_workflow(connection, code))
    calendar = given_zone or _zone_of(schedule, own_zone)
    return calendar, chains(spec, _fire_times(schedule), zone(calendar))


async def date_of(connection: AsyncConnection, code: WorkflowCode, own_zone: str, date: str) -> tuple[str, datetime]:
    """The time zone and the moment of one date, as a backfill reads it. Raises `Refused`."""
    calendar = _zone_of(_schedule(await schedules.of_workflow(connection, code)), own_zone)
    return calendar, begin_of(date, "date", zone(calendar))


def _zone_of(schedule: ScheduleRow | None, own_zone: str) -> str:
    return schedule.time_zone if schedule else own_zone


def _schedule(rows: Sequence[ScheduleRow]) -> ScheduleRow | None:
    """The schedule whose times are backfilled: the first that is ONLINE, else the first."""
    return next((row for row in rows if row.state == ReleaseState.ONLINE), rows[0] if rows else None)


def _fire_times(schedule: ScheduleRow | None) -> FireTimes | None:
    if schedule is None:
        return None
    # Lazily: a rule that fires each second has more times in a year than a master can list while others wait for it.
    return partial(Cron.parse(schedule.crontab).between, zone=zone(schedule.time_zone))
