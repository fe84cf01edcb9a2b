"""What is said with a request about schedules."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from pydantic import Field

from model.choices import Misfire, ReleaseState
from model.fields import NAME_LENGTH_MAX
from service.fields import Asked, Id, Text
from service.paging import PageQuery
from service.runs.requests import StartOptions

Name = Annotated[Text, Field(max_length=NAME_LENGTH_MAX)]
CronText = Annotated[Text, Field(max_length=1000, description="Quartz (second first) or ordinary cron")]
ZoneName = Annotated[Text, Field(max_length=100)]
Time = Annotated[Text, Field(max_length=60)]
Values = Annotated[dict[Text, Text], Field(max_length=1000, default_factory=dict, description="values for the runs")]
Again = Annotated[bool, Field(description="even if the workflow has an equal schedule")]
OPTIONS = frozenset({"misfire", "misfire_grace_s", *StartOptions.model_fields})
"""The fields of a change that are columns as they are."""


class ScheduleQuery(PageQuery):
    """A page of schedules, by id."""

    project: Annotated[Name | None, Field(description="only of workflows of this project")] = None
    workflow: Annotated[Name | None, Field(description="only of workflows with this name")] = None
    state: Annotated[ReleaseState | None, Field(description="only those in this state")] = None


class NewSchedule(StartOptions):
    """A schedule. Times without an offset are in its zone: the workflow's, unless it names one."""

    cron: CronText
    time_zone: ZoneName | None = None
    start_time: Annotated[Time | None, Field(description="nothing fires before; a date is its first moment")] = None
    end_time: Annotated[Time | None, Field(description="nothing fires after; a date is its last moment")] = None
    state: ReleaseState = ReleaseState.ONLINE
    params: Values
    misfire: Misfire = Misfire.FIRE_ONCE
    misfire_grace_s: Annotated[float, Field(ge=0, allow_inf_nan=False, description="a later fire is missed")] = 60.0
    again: Again = False


class ChangeSchedule(StartOptions):
    """What to change; what is left out stays. null takes away a start, an end or an option."""

    cron: CronText | None = None
    time_zone: ZoneName | None = None
    start_time: Annotated[Time | None, Field(description="null or `none`: no start")] = None
    end_time: Annotated[Time | None, Field(description="null or `none`: no end")] = None
    state: ReleaseState | None = None
    params: Values
    without_params: Annotated[Sequence[Name], Field(max_length=1000, description="values to remove")] = ()
    misfire: Misfire | None = None
    misfire_grace_s: Annotated[float | None, Field(ge=0, allow_inf_nan=False)] = None
    again: Again = False


class PreviewSchedule(Asked):
    """A schedule that is not saved."""

    cron: CronText
    time_zone: ZoneName = "UTC"
    start_time: Time | None = None
    end_time: Time | None = None
    count: Annotated[int, Field(ge=1, le=100, description="how many times")] = 10


class DetailQuery(Asked):
    """What is shown with a schedule."""

    next: Annotated[int, Field(ge=0, le=100, description="how many of its next fire times")] = 10


class FiresQuery(Asked):
    """Whose fire times."""

    workflow_code: Annotated[Id | None, Field(description="of each schedule of this workflow")] = None
    project: Annotated[Name | None, Field(description="only of workflows of this project")] = None
    count: Annotated[int, Field(ge=1, le=1000, description="for each schedule of the workflow; without one in all")] = (
        10
    )
