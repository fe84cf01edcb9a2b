"""The time that a run is for, by which its parameters are computed."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from zoneinfo import ZoneInfo

from model.time.intervals import Interval
from model.time.time_expressions import replace_time_expressions
from model.time.zones import zone


@dataclass(frozen=True, slots=True)
class RunTime:
    """`at` is the schedule time, or the time of a manual start; aware. `time_zone` defines days and hours. `interval`
    is that of its schedule, if it has one."""

    at: datetime
    time_zone: str
    interval: Interval | None = None

    @property
    def zone(self) -> ZoneInfo:
        """The zone that `time_zone` names. Raises `Refused`."""
        return zone(self.time_zone)

    def put_into(self, text: str) -> str:
        """The text with each `$[...]` replaced. Raises `NoInterval`, and `Refused` as `zone` does."""
        return replace_time_expressions(text, self.at, self.zone, self.interval) if "$[" in text else text
