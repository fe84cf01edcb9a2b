"""The operations that add, change, turn on and off, and delete schedules."""

from __future__ import annotations

from typing import Any

from dao.definitions import definitions, schedules
from dao.postgres.database import database_time
from model.accounts.rights import Right
from model.choices import ReleaseState
from model.errors import Refused
from model.ids import ScheduleId, WorkflowCode
from model.time.schedules import ScheduleRow, Timetable
from service.call import Call, Subject
from service.fields import Id
from service.operation import operation
from service.schedules import scheduling
from service.schedules.schedule_answers import ScheduleAnswer, ScheduleSaved, version_of
from service.schedules.schedule_entry import ScheduleEntry
from service.schedules.schedule_requests import OPTIONS, ChangeSchedule, NewSchedule

SCHEDULE = "schedule"
AUDITED = ("crontab", "time_zone", "start_time", "end_time", "state", "misfire")


@operation("POST", "/workflow-definitions/{code}/schedules", Right.EDIT, "schedules", status=201)
async def add_schedule(call: Call, code: Id, body: NewSchedule) -> ScheduleSaved:
    """Start a workflow by a cron rule. It applies from now on: earlier times do not fire."""
    entry = ScheduleEntry.of(**body.model_dump(exclude={"again"}))
    head = await call.read(definitions.head, WorkflowCode(code))
    async with call.changing(Subject("workflow-definition", head.code, head.project, head.name)) as change:
        now = await database_time(change.connection)
        secrets = call.settings.secrets
        made = await scheduling.add(change.connection, head, entry, secrets, now, again=body.again)
        row = await schedules.find(change.connection, made.id)
        change.after = {"schedule": str(made.id), **_audited(row), "params": sorted(body.params)}
        change.answer = _saved(row, made.table, now, is_workflow_zone=made.of_workflow)
    return change.answered(ScheduleSaved)


@operation("PATCH", "/schedules/{id}", Right.EDIT, "schedules")
async def change_schedule(call: Call, id: Id, body: ChangeSchedule) -> ScheduleSaved:
    """Change a schedule; what is left out stays unchanged. If its times change, they count from now."""
    changes = _changes(body)
    if changes == scheduling.Changes():
        raise Refused("say what to change, such as `cron`, `time_zone`, `start_time`, `end_time`, `params` or `state`")
    found = await call.read(schedules.find, ScheduleId(id))
    async with call.changing(_subject(found)) as change:
        await definitions.lock(change.connection, WorkflowCode(found.workflow_code))
        before = await schedules.find(change.connection, ScheduleId(id))
        call.expect(version_of(before))
        now = await database_time(change.connection)
        secrets = call.settings.secrets
        row, table = await scheduling.edit(change.connection, before.id, changes, secrets, now, again=body.again)
        change.before, change.after = _audited(before), {**_audited(row), "changed": sorted(body.model_fields_set)}
        change.answer = _saved(row, table, now)
    return change.answered(ScheduleSaved)


@operation("POST", "/schedules/{id}/on", Right.EDIT, "schedules")
async def turn_on_schedule(call: Call, id: Id) -> ScheduleAnswer:
    """Enable a schedule, from now on. One with a problem is retried."""
    return await _set_state(call, ScheduleId(id), online=True)


@operation("POST", "/schedules/{id}/off", Right.EDIT, "schedules")
async def turn_off_schedule(call: Call, id: Id) -> ScheduleAnswer:
    """Disable a schedule. Times that pass meanwhile do not count as missed."""
    return await _set_state(call, ScheduleId(id), online=False)


@operation("DELETE", "/schedules/{id}", Right.EDIT, "schedules")
async def delete_schedule(call: Call, id: Id) -> ScheduleAnswer:
    """Delete a schedule. The runs that it started continue."""
    found = await call.read(schedules.find, ScheduleId(id))
    async with call.changing(_subject(found)) as change:
        await definitions.lock(change.connection, WorkflowCode(found.workflow_code))
        row = await schedules.find(change.connection, found.id)
        call.expect(version_of(row))
        await schedules.remove(change.connection, row.id)
        change.before = _audited(row)
        change.answer = ScheduleAnswer.of(row)
    return change.answered(ScheduleAnswer)


async def _set_state(call: Call, id_: ScheduleId, *, online: bool) -> ScheduleAnswer:
    found = await call.read(schedules.find, id_)
    async with call.changing(_subject(found)) as change:
        before = await schedules.find(change.connection, id_)
        await schedules.set_state(change.connection, id_, online=online)
        row = await schedules.find(change.connection, id_)
        if online:
            await scheduling.check_limits_of_fires(change.connection, row)
        change.before, change.after = {"state": before.state}, {"state": row.state}
        change.answer = ScheduleAnswer.of(row)
    return change.answered(ScheduleAnswer)


def _changes(body: ChangeSchedule) -> scheduling.Changes:
    given = body.model_fields_set
    columns = {name: getattr(body, name) for name in OPTIONS & given}
    if columns.get("misfire", "") is None or columns.get("misfire_grace_s", "") is None:
        raise Refused("`misfire` and `misfire_grace_s` cannot be taken away; give a value")
    return scheduling.Changes(
        body.cron,
        body.time_zone,
        (body.start_time or scheduling.NONE) if "start_time" in given else None,
        (body.end_time or scheduling.NONE) if "end_time" in given else None,
        body.params,
        body.without_params,
        columns,
        None if body.state is None else body.state is ReleaseState.ONLINE,
    )


def _subject(row: ScheduleRow) -> Subject:
    return Subject(SCHEDULE, row.id, row.project, row.workflow)


def _audited(row: ScheduleRow) -> dict[str, Any]:
    return {name: value for name in AUDITED if (value := getattr(row, name)) is not None}


def _saved(row: ScheduleRow, table: Timetable, now: Any, **more: Any) -> ScheduleSaved:
    first = table.first_after(now) if row.state == ReleaseState.ONLINE else None
    fault = table.why_exhausted if row.state == ReleaseState.ONLINE and first is None else None
    fields = {"rule": table.cron.in_words, "time_zone": table.zone.key, "first_fire_at": first, "fault": fault}
    answer = ScheduleSaved.of(row, **fields, **more)
    assert isinstance(answer, ScheduleSaved)
    return answer
