"""The operations that list and show schedules, and compute when they fire."""

from __future__ import annotations

from typing import Any

from dao.definitions import definitions, schedule_contents, schedule_listings, schedules
from dao.postgres import database
from model.accounts.rights import Right
from model.errors import Refused
from model.ids import ScheduleId, WorkflowCode
from model.parameters.parameters import parse_parameters
from model.parameters.secret_values import without_sealed
from model.time.schedules import Timetable, upcoming
from service.call import Call
from service.fields import Id
from service.operation import operation
from service.paging import PageOf, page_of
from service.runs.requests import StartOptions
from service.schedules.fire_times import next_fires, preview
from service.schedules.schedule_answers import FireTime, NextFires, Preview, ScheduleAnswer, ScheduleDetail
from service.schedules.schedule_requests import DetailQuery, FiresQuery, PreviewSchedule, ScheduleQuery

FIRES_SHOWN_MAX = 10_000


@operation("GET", "/schedules", Right.VIEW, "schedules")
async def list_schedules(call: Call, query: ScheduleQuery) -> PageOf[ScheduleAnswer]:
    """List schedules by id: when each fires next, and why one does not."""
    wanted = schedule_listings.ScheduleFilter(query.project, query.workflow, query.state, call.visible())
    found = await call.read(schedule_listings.page, query.limit + 1, wanted, query.after or 0)
    return page_of(found, query.limit, ScheduleAnswer.of, lambda row: row.id)


@operation("GET", "/schedules/{id}", Right.VIEW, "schedules")
async def get_schedule(call: Call, id: Id, query: DetailQuery) -> ScheduleDetail:
    """Show a schedule: what it starts, and its next fire times."""
    async with call.reading() as connection:
        row = await schedules.find(connection, ScheduleId(id))
        call.permit(row.project)
        now = await database.database_time(connection)
        stored = next(
            each
            for each in await schedule_contents.contents_of(connection, WorkflowCode(row.workflow_code))
            if each.id == id
        )
    fields: dict[str, Any] = {"params": _shown(stored.params), "next_fires": []}
    if stored.spec is not None:
        fields |= {name: getattr(stored.spec, name) for name in StartOptions.model_fields}
    try:
        table = Timetable.of(row)
        times = upcoming(table, now, query.next)
        fields["next_fires"] = [FireTime.of(time, table, row) for time in times]
        if query.next and not times:
            fields["fault"] = table.why_exhausted
    except Refused as error:
        fields["fault"] = str(error)
    answer = ScheduleDetail.of(row, **fields)
    assert isinstance(answer, ScheduleDetail)
    return answer


@operation("POST", "/schedules:preview", Right.VIEW, "schedules", reads=True)
async def preview_schedule(call: Call, body: PreviewSchedule) -> Preview:
    """Show when a schedule would fire, before it is saved."""
    call.visible()  # it shows nothing that is stored
    now = await call.read(database.database_time)
    return preview(body.cron, body.time_zone, now, body.count, body.start_time, body.end_time)


@operation("GET", "/schedules:next", Right.VIEW, "schedules")
async def list_fires(call: Call, query: FiresQuery) -> NextFires:
    """List the next fire times of the schedules of a workflow, or of all."""
    if query.workflow_code is None:
        wanted = schedule_listings.ScheduleFilter(query.project, visible=call.visible())
        async with call.reading() as connection:
            now = await database.database_time(connection)
            rows = await schedule_listings.upcoming(connection, query.count, wanted)
        return next_fires(rows, now, query.count, query.count)
    async with call.reading() as connection:
        head = await definitions.head(connection, WorkflowCode(query.workflow_code))
        call.permit(head.project)
        now = await database.database_time(connection)
        rows = await schedules.of_workflow(connection, head.code)
    return next_fires(rows, now, query.count, FIRES_SHOWN_MAX)


def _shown(params: str) -> dict[str, str]:
    """Values without those that are sealed; none where they cannot be read."""
    try:
        return {name: without_sealed(value) for name, value in parse_parameters(params, "params").items()}
    except Refused:
        return {}
