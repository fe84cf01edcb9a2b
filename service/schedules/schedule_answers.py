"""Schedules and fire times, as they are answered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from math import isfinite
from typing import Annotated, Any

from pydantic import BeforeValidator, PlainSerializer, WithJsonSchema

from model.choices import FailureStrategy, Priority, ReleaseState, WarningType
from model.errors import Refused
from model.time.moments import midnight
from model.time.schedules import ScheduleRow, Timetable, stored_time
from service.fields import Answer, Id, Moment
from service.words import exact

DAY = timedelta(days=1)


def _readable(given: Any) -> Any:
    """A stored time; its text, when a person wrote one that Python's calendar cannot represent."""
    if not isinstance(given, str):
        return given
    try:
        return stored_time(given, "")
    except Refused:
        return given


def _said(given: datetime | str) -> str:
    return given if isinstance(given, str) else exact(given)


StoredTime = Annotated[
    datetime | str,
    BeforeValidator(_readable),
    PlainSerializer(_said, when_used="json"),
    WithJsonSchema({"type": "string", "examples": ["2026-01-31T04:00:00.000Z"]}),
]
"""A time in UTC, or what a person wrote into the table instead, such as `infinity`."""


class ScheduleAnswer(Answer, etag="version"):
    """A schedule. `version` is its ETag; a fire does not change it.

    `next_fire_at` is left out until a master has computed it. `problem`: why it no longer fires. `from_file`:
    the file of its workflow lists it. `workflow` and `project` are left out if the workflow is gone.
    """

    id: Id
    workflow_code: Id
    workflow: str | None = None
    project: str | None = None
    crontab: str
    time_zone: str
    start_time: StoredTime | None = None
    end_time: StoredTime | None = None
    state: ReleaseState
    misfire: str
    misfire_grace_s: float | None = None
    next_fire_at: StoredTime | None = None
    last_fire_at: StoredTime | None = None
    problem: str | None = None
    updated_at: StoredTime
    counts_from: StoredTime
    from_file: bool
    version: str

    @classmethod
    def of(cls, row: ScheduleRow, **more: Any) -> ScheduleAnswer:
        """The answer for a row, with `more` fields."""
        grace_s = row.misfire_grace_s if isfinite(row.misfire_grace_s) else None
        return cls(**{**asdict(row), "misfire_grace_s": grace_s, "version": version_of(row), **more})


class FireTime(Answer):
    """A fire time. `local` is it in the zone of the schedule; `day_h` the length of that day there, if it is not 24 h.

    The schedule's fields are left out if it is not saved.
    """

    utc: Moment
    local: str
    time_zone: str
    day_h: float | None = None
    schedule_id: Id | None = None
    state: ReleaseState | None = None
    workflow: str | None = None

    @classmethod
    def of(cls, time: datetime, table: Timetable, row: ScheduleRow | None = None) -> FireTime:
        local = time.astimezone(table.zone)
        begin = midnight(local.date(), table.zone)
        day_h = (midnight(local.date() + DAY, table.zone) - begin) / timedelta(hours=1)
        fields: dict[str, Any] = {} if day_h == 24 else {"day_h": day_h}
        if row is not None:
            fields |= {"schedule_id": row.id, "state": row.state, "workflow": row.workflow}
        utc = time.astimezone(UTC)
        return cls(utc=utc, local=local.isoformat(), time_zone=table.zone.key, **fields)


class ScheduleDetail(ScheduleAnswer):
    """A schedule with what it starts, and when. `fault`: why it has no fire time. Secret values are asterisks."""

    params: Mapping[str, str]
    priority: Priority | None = None
    failure_strategy: FailureStrategy | None = None
    warning_type: WarningType | None = None
    alert_group: str | None = None
    worker_group: str | None = None
    environment: str | None = None
    next_fires: Sequence[FireTime]
    fault: str | None = None


class ScheduleSaved(ScheduleAnswer):
    """A schedule that was saved. `rule` is its cron text in words; `fault` says why it does not fire.

    `first_fire_at` is left out for one that is OFFLINE. `is_workflow_zone`: its zone is the workflow's.
    """

    rule: str
    first_fire_at: Moment | None = None
    fault: str | None = None
    is_workflow_zone: bool = False


class Preview(Answer):
    """When a schedule would fire: its cron text in words, and the times; none is left if there are none."""

    crontab: str
    rule: str
    time_zone: str
    fires: Sequence[FireTime]


class NextFires(Answer):
    """Fire times, the next one first. `faults` are sentences about schedules that have none; `offline` do not fire."""

    fires: Sequence[FireTime]
    faults: Sequence[str]
    offline: Sequence[Id]
    schedules: int
    """How many were read."""


def version_of(row: ScheduleRow) -> str:
    """What distinguishes its present content from earlier ones."""
    return row.updated_at.replace(" ", "T")
