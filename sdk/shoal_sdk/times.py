"""Times of a run, and the schedules that start it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from shoal_sdk.types_of_values import Expression

Missed = Literal["once", "all", "skip"]
_MISFIRE = {"once": "FIRE_ONCE", "all": "FIRE_ALL", "skip": "SKIP"}


def day(shift: int = 0, pattern: str = "yyyy-MM-dd") -> str:
    """The day of the run's schedule time, or another one, as a text such as 2026-01-30.

    Args:
        shift: days after it; -1 is the day before.
        pattern: of Java's SimpleDateFormat.
    """
    return Expression(f"$[{pattern}{f'{shift:+d}' if shift else ''}]")


@dataclass(frozen=True)
class Cron:
    """A schedule; made by `cron`."""

    expression: str
    zone: str | None = None
    missed: Missed = "once"
    params: tuple[tuple[str, Any], ...] = ()

    def spec(self) -> dict[str, Any]:
        """As `schedules` of a workflow has it."""
        said: dict[str, Any] = {"cron": self.expression}
        if self.zone is not None:
            said["time_zone"] = self.zone
        if self.missed != "once":
            said["misfire"] = _MISFIRE[self.missed]
        if self.params:
            said["params"] = dict(self.params)
        return said


def cron(expression: str, *, zone: str | None = None, missed: Missed = "once", **params: Any) -> Cron:
    """A schedule by a cron expression of five to seven fields, or `@hourly`, `@daily` and similar.

    Args:
        zone: the time zone of its times; else that of the flow.
        missed: what happens to times at which no master ran: one start for all, one for each, or none.
        params: values that its runs begin with.
    """
    return Cron(expression, zone, missed, tuple(params.items()))
