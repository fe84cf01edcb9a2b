"""A schedule as a person writes it: an entry of `schedules:` in a workflow's file, or the options of a verb.

Its fields have the names of the columns; those of the verbs' options are understood too.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Annotated, Any

from pydantic import AliasChoices, BaseModel, ConfigDict, Field, ValidationError

from model.choices import FailureStrategy, Misfire, Priority, ReleaseState, WarningType
from model.definitions.problems import Problem
from model.errors import Refused
from model.fields import GroupName, Name
from model.near import nearest
from model.parameters.text import ParameterValue
from model.time.cron import Cron
from model.time.moments import begin_of, end_of
from model.time.schedules import ScheduleSpec
from model.time.zones import zone


def _also(*names: str) -> Any:
    return Field(None, validation_alias=AliasChoices(*names))


class ScheduleEntry(BaseModel):
    """One schedule of a workflow. Times without an offset are in its zone: the workflow's, unless it names one."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)

    cron: Annotated[str, Field(validation_alias=AliasChoices("cron", "crontab"))]
    time_zone: str | None = _also("time_zone", "zone")
    start_time: str | None = _also("start_time", "start")
    end_time: str | None = _also("end_time", "end")
    state: ReleaseState = ReleaseState.ONLINE
    params: dict[str, ParameterValue] = {}
    misfire: Misfire = Misfire.FIRE_ONCE
    misfire_grace_s: Annotated[float, Field(validation_alias=AliasChoices("misfire_grace_s", "grace"))] = 60.0
    priority: Priority | None = None
    failure_strategy: FailureStrategy | None = None
    warning_type: WarningType | None = None
    alert_group: Name | None = None
    worker_group: GroupName | None = None
    environment: Name | None = None

    @classmethod
    def of(cls, **fields: object) -> ScheduleEntry:
        """An entry of the options of a verb. Raises `Refused`."""
        try:
            return cls.model_validate(fields)
        except ValidationError as error:
            raise Refused("; ".join(_said(part) for part in error.errors(include_url=False))) from None

    @property
    def online(self) -> bool:
        return self.state is ReleaseState.ONLINE

    def spec(self, of_workflow: str) -> ScheduleSpec:
        """The schedule, its params as they were written: a SECRET one is not sealed yet.

        Args:
            of_workflow: the zone that it has unless it names one.
        Raises:
            Refused: its cron, zone, times or grace are wrong.
        """
        in_zone = zone(of_workflow if self.time_zone is None else self.time_zone)
        spec = ScheduleSpec(
            Cron.parse(self.cron).text,
            in_zone.key,
            begin_of(self.start_time, "start_time", in_zone) if self.start_time is not None else None,
            end_of(self.end_time, "end_time", in_zone) if self.end_time is not None else None,
            json.dumps(self.params, ensure_ascii=False),
            self.misfire,
            self.misfire_grace_s,
            self.priority,
            self.failure_strategy,
            self.warning_type,
            self.alert_group,
            self.worker_group,
            self.environment,
        )
        spec.identity, spec.table  # noqa: B018 - they raise
        return spec


def problem_of_field(part: Any) -> Problem:
    """A fault that pydantic found in an entry of `schedules`: `part` is one of `ValidationError.errors()`."""
    where = tuple(part["loc"])
    if len(where) < 2:
        return Problem(where=where, sentence='field "schedules": must be a list, each entry with a `cron:`')
    if len(where) == 2:
        return Problem(where=where, sentence=f"schedule {int(where[1]) + 1} must be a mapping with a `cron:`")
    return Problem(where=where, sentence=f"schedule {int(where[1]) + 1}: {_said({**part, 'loc': where[2:]})}")


def problems_of(entries: Sequence[ScheduleEntry], of_workflow: str) -> Iterator[Problem]:
    """What is wrong with the schedules of a file, each alone and beside the others."""
    seen: dict[str, int] = {}
    for place, entry in enumerate(entries):
        try:
            identity = repr(entry.spec(of_workflow).identity)
        except Refused as error:
            yield Problem(where=("schedules", place), sentence=f"schedule {place + 1}: {error}")
            continue
        if (first := seen.setdefault(identity, place)) != place:
            sentence = f"schedule {place + 1} is the same as schedule {first + 1}; remove one of them"
            yield Problem(where=("schedules", place), sentence=sentence)


def _said(part: Any) -> str:
    field, message = ".".join(map(str, part["loc"])), str(part["msg"])
    if part["type"] == "missing":
        return f'the field "{field}" is missing'
    if part["type"] == "extra_forbidden":
        near = nearest(field, list(ScheduleEntry.model_fields))
        known = f'did you mean "{near}"?' if near else f"known are {', '.join(ScheduleEntry.model_fields)}"
        return f'there is no field "{field}"; {known}'
    if part["type"] == "string_type":
        message = "must be a text; write it in quotes"
    return f'field "{field}": {message[:1].lower()}{message[1:]}'
