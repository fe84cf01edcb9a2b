"""Which schedules missed a fire, and why. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from model.choices import Misfire
from model.errors import Refused
from model.time.schedules import ScheduleRow, Timetable, stored_time

WAIT_MAX = timedelta(minutes=1)
"""A fire that is due for longer than this was fired by nobody."""


class MissedWhy(StrEnum):
    """Why a fire was missed."""

    NOT_FIRED = "NOT_FIRED"
    SKIPPED = "SKIPPED"
    STOPPED = "STOPPED"


@dataclass(frozen=True, slots=True)
class MissedFire:
    """A fire that did not happen. `due_at` is None if the schedule has no fire time that can be computed."""

    why: MissedWhy
    due_at: datetime | None
    reason: str


def missed_fire(row: ScheduleRow, now: datetime) -> MissedFire | None:
    """The last fire of an ONLINE schedule, if it was missed; None = it was not."""
    if row.problem is not None:
        return MissedFire(MissedWhy.STOPPED, None, row.problem)
    try:
        table = Timetable.of(row)
        due_at = stored_time(row.next_fire_at, "next_fire_at")
        counts_from, last = stored_time(row.counts_from, "counts_from"), stored_time(row.last_fire_at, "last_fire_at")
    except Refused as error:
        return MissedFire(MissedWhy.STOPPED, None, str(error))
    if due_at is None:
        return MissedFire(MissedWhy.NOT_FIRED, None, "no master has computed when it fires; see `shoal master list`")
    if due_at < now - WAIT_MAX:
        return MissedFire(MissedWhy.NOT_FIRED, due_at, "no master has fired it; see `shoal master list`")
    if table.misfire is not Misfire.SKIP or counts_from is None:
        return None
    first = table.first_after(max(counts_from, last) if last else counts_from)
    if first is None or first >= min(due_at, now - table.grace):
        return None
    said = f"no master fired it within its grace of {table.grace.total_seconds():g} s, and its misfire rule is SKIP"
    return MissedFire(MissedWhy.SKIPPED, first, said)
