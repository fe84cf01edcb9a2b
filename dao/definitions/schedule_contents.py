"""The whole content of schedules, for those who compare and change them; masters use `dao/definitions/schedules.py`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from dao.postgres.notify import SCHEDULE, changed, notify
from dao.postgres.pool import AsyncConnection
from dao.postgres.rows import Row
from dao.postgres.sql import Sql
from dao.postgres.statements import made_by, statement
from model.changes import Changes
from model.choices import FailureStrategy, Misfire, Priority, WarningType
from model.errors import Refused
from model.ids import ScheduleId, WorkflowCode
from model.time.schedules import ScheduleSpec, stored_time

_CHANGE = "UPDATE schedule SET {}, updated_at = clock_timestamp() WHERE id = :id RETURNING workflow_code"
COLUMNS = frozenset(ScheduleSpec.__slots__)


@dataclass(frozen=True, slots=True)
class StoredSchedule:
    """A schedule of a workflow; `from_file`: its file lists it. `spec` is None if it cannot be read."""

    id: ScheduleId
    online: bool
    from_file: bool
    params: str
    spec: ScheduleSpec | None


def _stored(row: Row) -> StoredSchedule:
    try:
        spec = ScheduleSpec(
            row.crontab,
            row.time_zone,
            stored_time(row.start_time, "start_time"),
            stored_time(row.end_time, "end_time"),
            row.params,
            Misfire(row.misfire),
            row.misfire_grace_s,
            Priority(row.priority) if row.priority else None,
            FailureStrategy(row.failure_strategy) if row.failure_strategy else None,
            WarningType(row.warning_type) if row.warning_type else None,
            row.alert_group,
            row.worker_group,
            row.environment,
        )
        spec.identity  # noqa: B018 - whether it can be read
    except (Refused, ValueError):
        spec = None
    return StoredSchedule(row.id, row.state == "ONLINE", row.from_file, row.params, spec)


@made_by(_stored)
@statement("""
    SELECT id, state, from_file, crontab, time_zone, start_time::text, end_time::text, params, misfire, misfire_grace_s,
           priority, failure_strategy, warning_type, alert_group, worker_group, environment
    FROM schedule WHERE workflow_code = :workflow      -- index: schedule_of_workflow
    ORDER BY id
""")
async def contents_of(connection: AsyncConnection, workflow: WorkflowCode) -> list[StoredSchedule]: ...


async def change_columns(connection: AsyncConnection, id_: ScheduleId, values: Mapping[str, object]) -> None:
    """Save some fields of `ScheduleSpec`, and leave the others as they are, even unreadable.

    If the fire times changed, they count from now. The caller checks the result.
    """
    assert values.keys() <= COLUMNS
    sets = ", ".join(f"{name} = :{name}" for name in values)
    rows = await connection.execute(Sql(_CHANGE.format(sets)), {**values, "id": id_})
    await notify(connection, SCHEDULE)
    await changed(connection, Changes(definitions=set(rows.scalars())))


@statement("UPDATE schedule SET from_file = true WHERE id = :id_ AND NOT from_file")
async def list_in_file(connection: AsyncConnection, id_: ScheduleId) -> None:
    """Record that the workflow's file lists it."""
