"""What is asked about runs that want to know whether they are the latest: their schedule's rule, and the time.

Asked only for runs whose tasks name `system.is_latest`, when a task may begin.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

from dao.postgres.pool import AsyncConnection
from dao.postgres.statements import statement
from model.ids import WorkflowInstanceId
from model.time.intervals import FireRule


@dataclass(frozen=True, slots=True)
class DueRun:
    """A run that its schedule, or a backfill, made for the time `at`. `end` is that of the schedule, as text."""

    id: WorkflowInstanceId
    at: datetime
    now: datetime
    rule: FireRule
    end: str | None


# A run of a schedule has the rule of that, one of a backfill that of the first that is ONLINE, else of the first.
@statement("""
    SELECT i.id, least(greatest(i.schedule_time, '0100-01-01 00:00Z'), '9900-01-01 00:00Z') AS at,
           clock_timestamp() AS now, s.crontab, s.time_zone, s.end_time::text AS end_time
    FROM workflow_instance i
    CROSS JOIN LATERAL (
        SELECT * FROM schedule s                                                    -- index: schedule_of_workflow
        WHERE s.workflow_code = i.workflow_code AND s.id = coalesce(i.schedule_id, s.id)
        ORDER BY s.state <> 'ONLINE', s.id LIMIT 1) AS s
    WHERE i.id = ANY(CAST(:ids AS bigint[])) AND i.command_type IN ('SCHEDULER', 'COMPLEMENT_DATA')
""")
async def due_runs(connection: AsyncConnection, ids: Collection[WorkflowInstanceId]) -> list[DueRun]:
    """Those of these runs that a schedule or a backfill made, if there is a schedule."""
