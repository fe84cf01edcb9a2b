"""How the runs of schedules ended, by the day of their fire time. Reads only."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime

from dao.postgres.pool import AsyncConnection
from dao.postgres.statements import statement
from model.ids import ScheduleId
from model.runs.states import WorkflowState

EACH_MAX = 2_000
"""Of a schedule so many runs are read, the latest."""


@dataclass(frozen=True, slots=True)
class DayCount:
    """So many runs of a schedule are in a state; `day` is the place of the day, from 0 on."""

    schedule: ScheduleId
    day: int
    state: WorkflowState
    count: int
    is_cut: bool


@statement("""
    SELECT own.schedule_id, width_bucket(own.schedule_time, CAST(:begins AS timestamptz[])) - 1, own.state, count(*),
           bool_or(own.place > :EACH_MAX)
    FROM unnest(CAST(:schedules AS bigint[])) AS wanted (id)
    CROSS JOIN LATERAL (
        SELECT i.schedule_id, i.schedule_time, i.state, row_number() OVER () AS place FROM (
            SELECT * FROM workflow_instance                                     -- index: workflow_instance_fire
            WHERE schedule_id = wanted.id AND schedule_time >= (CAST(:begins AS timestamptz[]))[1]
              AND schedule_time < CAST(:until AS timestamptz)
            ORDER BY schedule_id DESC, schedule_time DESC LIMIT :EACH_MAX + 1) AS i) AS own
    GROUP BY 1, 2, 3 ORDER BY 2, 1, 3
""")
async def counts(
    connection: AsyncConnection, schedules: Collection[ScheduleId], begins: Sequence[datetime], until: datetime
) -> list[DayCount]:
    """The runs of these schedules by day: `begins` are the beginnings of the days (aware), `until` is their end.

    One that `is_cut` is of a schedule with more than `EACH_MAX` runs, of which older ones are not counted.
    """
