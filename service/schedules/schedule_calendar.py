"""The operation that shows schedules day by day: how past runs ended, and when the next ones fire."""

from __future__ import annotations

import asyncio
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from datetime import date, datetime, timedelta
from typing import Annotated

from pydantic import ConfigDict, Field

from dao.definitions import schedule_days, schedule_listings
from dao.definitions.schedule_days import DayCount
from dao.postgres.database import database_time
from model.accounts.rights import Right
from model.errors import Refused
from model.runs.states import WorkflowState
from model.time.clock_changes import clock_change, length_of
from model.time.moments import YEAR_MAX, YEAR_MIN, midnight
from model.time.schedules import ScheduleRow
from model.time.zones import zone
from service.call import Call
from service.fields import Answer, Asked, Id, Moment
from service.operation import operation
from service.schedules.calendar_days import AllFires, fires_of_days
from service.schedules.schedule_answers import FireTime
from service.schedules.schedule_requests import Name, ZoneName

DAYS_MAX = 62
SCHEDULES_MAX = 200
DAY = timedelta(days=1)


class CalendarQuery(Asked):
    """Which days, both inclusive, at most 62; whose schedules, at most 200 by id."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)

    begin: Annotated[date, Field(alias="from", description="the first day")]
    end: Annotated[date, Field(alias="to", description="the last day")]
    zone: Annotated[ZoneName, Field(description="whose days they are")] = "UTC"
    project: Annotated[Name | None, Field(description="only of workflows of this project")] = None
    workflow: Annotated[Name | None, Field(description="only of workflows with this name")] = None


class ScheduleDay(Answer):
    """A schedule on a day: its runs by state, and the first times at which it fires from now on.

    `more` fire times follow on that day; with `more_is_least` there are more than that.
    """

    schedule_id: Id
    workflow: str | None = None
    project: str | None = None
    states: Mapping[WorkflowState, int]
    fires: Sequence[FireTime]
    more: int = 0
    more_is_least: bool = False


class CalendarDay(Answer):
    """A day; schedules that have nothing on it are left out. `states` counts the runs of all of them.

    `day_h` and `clock_change` are left out on days of 24 hours; the sentence says what happens to fire times in the
    zone that was asked for.
    """

    day: Annotated[str, Field(examples=["2026-01-31"])]
    begins_at: Moment
    day_h: float | None = None
    clock_change: str | None = None
    states: Mapping[WorkflowState, int]
    schedules: Sequence[ScheduleDay]


class CalendarAnswer(Answer):
    """Days. A run counts on the day of its fire time, not of its start.

    If not `is_complete`, something is left out: schedules after the first 200, of a schedule runs before the last
    2,000, or fire times from the day `fires_until` on. `faults` are sentences about schedules that have no fire times.
    """

    time_zone: str
    now: Moment
    days: Sequence[CalendarDay]
    faults: Sequence[str]
    fires_until: str | None = None
    is_complete: bool


@operation("GET", "/schedules:calendar", Right.VIEW, "schedules")
async def get_calendar(call: Call, query: CalendarQuery) -> CalendarAnswer:
    """Show schedules day by day: how their runs ended, and when they fire."""
    wanted = schedule_listings.ScheduleFilter(query.project, query.workflow, visible=call.visible())
    days = _days(query)
    calendar = zone(query.zone)
    begins, until = [midnight(day, calendar) for day in days], midnight(days[-1] + DAY, calendar)
    async with call.reading() as connection:
        now = await database_time(connection)
        found = await schedule_listings.page(connection, SCHEDULES_MAX + 1, wanted)
        rows = found[:SCHEDULES_MAX]
        counts = await schedule_days.counts(connection, [row.id for row in rows], begins, until)
    fires = await asyncio.to_thread(fires_of_days, rows, now, begins, until)
    ran: dict[int, list[DayCount]] = defaultdict(list)
    for each in counts:
        ran[each.day].append(each)
    shown = []
    for place, day in enumerate(days):
        change = clock_change(day, calendar)
        total: Counter[WorkflowState] = Counter()
        for each in ran[place]:
            total[each.state] += each.count
        shown.append(
            CalendarDay(
                day=day.isoformat(),
                begins_at=begins[place],
                day_h=None if change is None else length_of(day, calendar) / timedelta(hours=1),
                clock_change=None if change is None else change.in_words,
                states=total,
                schedules=_schedules(rows, ran[place], fires, place),
            )
        )
    return CalendarAnswer(
        time_zone=calendar.key,
        now=now,
        days=shown,
        faults=fires.faults,
        fires_until=None if fires.until_day is None else days[fires.until_day].isoformat(),
        is_complete=len(found) <= SCHEDULES_MAX and fires.until_day is None and not any(each.is_cut for each in counts),
    )


def _days(query: CalendarQuery) -> list[date]:
    if not YEAR_MIN <= query.begin.year <= query.end.year <= YEAR_MAX or query.end < query.begin:
        raise Refused(f"`from` must not be after `to`, and both be in the years {YEAR_MIN} to {YEAR_MAX}")
    count = (query.end - query.begin).days + 1
    if count > DAYS_MAX:
        raise Refused(f"a calendar has at most {DAYS_MAX} days, not {count}; ask for the others with another request")
    return [query.begin + place * DAY for place in range(count)]


def _schedules(rows: Sequence[ScheduleRow], ran: Sequence[DayCount], fires: AllFires, day: int) -> list[ScheduleDay]:
    states: dict[int, dict[WorkflowState, int]] = defaultdict(dict)
    for each in ran:
        states[each.schedule][each.state] = each.count
    found = []
    for place, row in enumerate(rows):
        to_come = fires.days.get((day, place))
        if to_come is None and row.id not in states:
            continue
        times: Sequence[datetime] = () if to_come is None else to_come.times
        found.append(
            ScheduleDay(
                schedule_id=row.id,
                workflow=row.workflow,
                project=row.project,
                states=states.get(row.id, {}),
                fires=[FireTime.of(time, fires.tables[place], row) for time in times],
                more=0 if to_come is None else to_come.more,
                more_is_least=to_come is not None and to_come.is_least,
            )
        )
    return found
