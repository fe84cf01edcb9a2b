"""What a WAIT task waits for, as defined."""

from __future__ import annotations

import re
from datetime import UTC, datetime, time
from typing import Annotated, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from model.errors import Refused
from worker.tasks.http import HttpTask

NOT_ABSOLUTE = "must begin with /: the folder of a task is new each time"
_ANY_DAY = datetime(2000, 1, 1, tzinfo=UTC)
_TIME_OF_DAY = re.compile(r"([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9])?")


class SqlLook(BaseModel):
    """A query that finds something if the first column of its first row is neither empty, false nor 0."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    datasource: str
    sql: str | list[str]


class ObjectLook(BaseModel):
    """An object in the bucket of a data source."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    datasource: str
    key: Annotated[str, Field(min_length=1, max_length=4_000)]


class Thing(BaseModel):
    """Exactly one of these. `time` is a time of the schedule time's day, such as 06:30, or a date with a time."""

    model_config = ConfigDict(frozen=True, extra="forbid", json_schema_extra={"minProperties": 1, "maxProperties": 1})

    file: Annotated[str, Field(min_length=1, max_length=4_000)] | None = None
    s3: ObjectLook | None = None
    http: HttpTask.Params | None = None
    sql: SqlLook | None = None
    script: Annotated[str, Field(min_length=1)] | None = None
    time: Annotated[str, Field(min_length=1, max_length=200)] | None = None

    @model_validator(mode="after")
    def _is_one(self) -> Self:
        if len(self.model_fields_set) != 1 or None in (getattr(self, name) for name in self.model_fields_set):
            raise ValueError(f"must have exactly one of {', '.join(type(self).model_fields)}")
        return self

    @model_validator(mode="after")
    def _is_fit(self) -> Self:
        """Check what can be known before parameters are replaced."""
        if self.file is not None and self.file[0] not in "/$\0":
            raise ValueError(f"file: {self.file[:100]} {NOT_ABSOLUTE}")
        if self.time is not None and not {"$", "\0"} & set(self.time):
            try:
                moment_of(self.time, _ANY_DAY)
            except Refused as error:
                raise ValueError(str(error).removeprefix("for.")) from None
        return self


def moment_of(text: str, local_time: datetime) -> datetime:
    """The moment that a text means in the zone of `local_time`: a time of its day, or a date with a time and perhaps an
    offset. Raises `Refused`."""
    text = text.strip()
    try:
        if _TIME_OF_DAY.fullmatch(text):
            return datetime.combine(local_time.date(), time.fromisoformat(text), local_time.tzinfo)
        at = datetime.fromisoformat(text)
        at.astimezone(UTC)
    except (ValueError, OverflowError):
        raise Refused(
            f'for.time: "{text[:100]}" is no time; write 06:30, or $[yyyy-MM-dd+1] 06:30, or 2026-01-31T06:30:00+01:00'
        ) from None
    return at if at.tzinfo is not None else at.replace(tzinfo=local_time.tzinfo)
