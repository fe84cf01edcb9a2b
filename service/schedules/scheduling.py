"""Schedules that people add, change, or list in a workflow's file.

Two equal ones would start each run twice, so the second is refused. The workflow's row is locked meanwhile: of two
people who add the same one at once, the second is refused too.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from dao.definitions import definitions, schedule_contents, schedules
from dao.definitions.definitions import Definition
from dao.definitions.schedule_contents import contents_of
from dao.postgres.pool import AsyncConnection
from dao.secrets.parameters import sealed_values
from model.choices import ReleaseState
from model.definitions.workflow import WorkflowSpec
from model.errors import NotFound, Refused
from model.ids import ScheduleId, WorkflowCode
from model.parameters.parameters import parse_parameters
from model.time.moments import begin_of, end_of
from model.time.schedules import ScheduleRow, ScheduleSpec, Timetable
from model.time.zones import zone
from service.projects.limits import check_limits_of_start
from service.runs.start_check import check_all_values, check_start
from service.schedules.schedule_entry import ScheduleEntry
from service.secrets.key_settings import SecretSettings, open_vault
from service.workflows.sealing import sealed_schedule, secrets_of

TIMES = frozenset({"crontab", "time_zone", "start_time", "end_time"})
NONE = "none"
"""Takes away the start or end of a schedule."""


@dataclass(frozen=True)
class Added:
    """A new schedule. `of_workflow`: its zone is the workflow's."""

    id: ScheduleId
    table: Timetable
    of_workflow: bool


@dataclass(frozen=True)
class Changes:
    """What to change of a schedule; None = leave it. `params` are added to those it has, `without` are removed."""

    cron: str | None = None
    zone: str | None = None
    start: str | None = None
    end: str | None = None
    params: Mapping[str, str] = field(default_factory=dict)
    without: Sequence[str] = ()
    columns: Mapping[str, object] = field(default_factory=dict)
    online: bool | None = None


async def add(
    connection: AsyncConnection,
    head: Definition,
    entry: ScheduleEntry,
    secrets: SecretSettings,
    now: datetime,
    *,
    again: bool = False,
) -> Added:
    """Save a schedule; its times count from now.

    Args:
        entry: as it was given.
        again: even if there is an equal one.
    Raises:
        Refused: it is wrong, never fires, or there is an equal one.
    """
    await definitions.lock(connection, head.code)
    spec = entry.spec(await zone_of(connection, head))
    await check_start(connection, head, entry.params, [], None)
    await check_all_values(connection, head, entry.params)
    await check_limits_of_start(connection, head, None, entry)
    spec = await sealed_schedule(connection, head, spec, secrets, await contents_of(connection, head.code))
    table = spec.checked(now)
    if not again:
        await _refuse_equal(connection, head, spec)
    return Added(
        await schedules.insert(connection, head.code, spec, online=entry.online), table, entry.time_zone is None
    )


async def edit(
    connection: AsyncConnection,
    id_: ScheduleId,
    changes: Changes,
    secrets: SecretSettings,
    now: datetime,
    *,
    again: bool = False,
) -> tuple[ScheduleRow, Timetable]:
    """Change a schedule. If its fire times changed, they count from now. The caller rolls back if this raises.

    Raises:
        NotFound: there is none.
        Refused: the result is wrong, never fires, or equals another one (unless `again`).
    """
    row = await schedules.find(connection, id_)
    head = (await definitions.heads(connection, [WorkflowCode(row.workflow_code)])).get(WorkflowCode(row.workflow_code))
    if head is None:
        raise Refused(f"schedule {id_} starts workflow {row.workflow_code}, which does not exist; remove the schedule")
    await definitions.lock(connection, head.code)
    columns = _columns(row, changes)
    if changes.params or changes.without:
        columns["params"] = await _params(connection, head, id_, changes, secrets)
    if columns:
        await schedule_contents.change_columns(connection, id_, columns)
    if changes.online is not None:
        await schedules.set_state(connection, id_, online=changes.online)
    row = await schedules.find(connection, id_)
    if row.state == ReleaseState.ONLINE or columns:
        await _check_limits(connection, head, id_)
    table = Timetable.of(row)
    if table.first_after(now) is None and (changes.online or TIMES & columns.keys()):
        raise Refused(table.why_exhausted)
    if not again and columns.keys() & {*TIMES, "params"}:
        mine = next(each for each in await contents_of(connection, head.code) if each.id == id_)
        if mine.spec is not None:
            await _refuse_equal(connection, head, mine.spec, id_)
    return row, table


async def check_limits_of_fires(connection: AsyncConnection, row: ScheduleRow) -> None:
    """Refuse a schedule that would start what its project may no longer use. Raises `Refused`."""
    code = WorkflowCode(row.workflow_code)
    if (head := (await definitions.heads(connection, [code])).get(code)) is not None:
        await _check_limits(connection, head, ScheduleId(row.id))


async def _check_limits(connection: AsyncConnection, head: Definition, id_: ScheduleId) -> None:
    mine = next((each.spec for each in await contents_of(connection, head.code) if each.id == id_), None)
    await check_limits_of_start(connection, head, None, *([mine] if mine is not None else []))


async def zone_of(connection: AsyncConnection, head: Definition) -> str:
    """The time zone of a workflow; UTC if its definition cannot be read."""
    spec = await definitions.spec_of(connection, head.code, head.version)
    return spec.time_zone if isinstance(spec, WorkflowSpec) else "UTC"


def _columns(row: ScheduleRow, changes: Changes) -> dict[str, object]:
    """The new values of its columns but `params`."""
    columns = dict(changes.columns)
    if changes.cron is not None:
        columns["crontab"] = changes.cron
    if changes.zone is not None:
        columns["time_zone"] = zone(changes.zone).key
    for name, text, read in (
        ("start_time", changes.start, begin_of),
        ("end_time", changes.end, end_of),
    ):
        if text is not None:
            columns[name] = None if text == NONE else read(text, name, zone(changes.zone or row.time_zone))
    return columns


async def _params(
    connection: AsyncConnection, head: Definition, id_: ScheduleId, changes: Changes, secrets: SecretSettings
) -> str:
    stored = next(each for each in await contents_of(connection, head.code) if each.id == id_)
    before = parse_parameters(stored.params, "params")
    missing = [name for name in changes.without if name not in before]
    if missing:
        raise NotFound(f'schedule {id_} has no parameter "{missing[0]}"; it has {", ".join(before) or "none"}')
    await check_start(connection, head, changes.params, [], None)
    names = await secrets_of(connection, head, changes.params)
    given = dict(changes.params)
    if names:
        given = sealed_values(changes.params, names, open_vault(secrets), head.project, before)
    left = {name: value for name, value in before.items() if name not in changes.without}
    await check_all_values(connection, head, {**left, **changes.params})
    return json.dumps({**left, **given}, ensure_ascii=False)


async def _refuse_equal(
    connection: AsyncConnection, head: Definition, spec: ScheduleSpec, itself: ScheduleId | None = None
) -> None:
    for other in await contents_of(connection, head.code):
        if other.id != itself and other.spec is not None and other.spec.identity == spec.identity:
            raise Refused(
                f'schedule {other.id} of workflow "{head.name}" is the same: cron, zone, window and parameters; '
                f"change that one (shoal schedule edit {other.id}), or say `again` (--again) to have both"
            )
