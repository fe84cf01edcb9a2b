"""The duties as they stand, for people: when each was done last, by whom, and with which result. Reads only."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from dao.postgres.pool import AsyncConnection
from dao.postgres.statements import statement
from model.ids import Epoch


@dataclass(frozen=True)
class DutyDone:
    """That a duty was done for the period that began at `due_at`."""

    due_at: datetime
    epoch: Epoch
    master: str
    began_at: datetime
    ended_at: datetime
    steps: int
    late: bool
    is_fine: bool
    result: str


@dataclass(frozen=True)
class Duty:
    """A duty. `master` and `began_at` are of the period that is being done, None while none is; `last` is the last one
    that was done; `error` is why the last step failed that did. `is_idle`: there is nothing to do for it now, so it is
    not done although it is due."""

    name: str
    every_s: float
    due_at: datetime
    is_idle: bool
    master: str | None
    began_at: datetime | None
    failures: int
    error: str | None
    error_at: datetime | None
    last: DutyDone | None


# There are a few; of each the newest row of its history. index: duty_done_pkey
@statement("""
    SELECT d.name, d.every_s, d.due_at,
           d.name = 'alert_rules' AND d.steps = 0 AND NOT EXISTS (
               SELECT FROM alerts_waiting() AS a
               WHERE a.ends OR a.rules OR a.refused OR a.late_tasks OR a.lost_nodes),
           CASE WHEN d.began_at IS NOT NULL THEN coalesce(nullif(n.name, ''), n.address, d.holder::text) END,
           d.began_at, d.failures, d.error, d.error_at,
           l.due_at, l.node_id, l.node_name, l.began_at, l.ended_at, l.steps, l.late, l.is_fine, l.result
    FROM (SELECT * FROM duty ORDER BY name LIMIT 1000) AS d
    LEFT JOIN node n ON n.id = d.holder
    LEFT JOIN LATERAL (
        SELECT * FROM duty_done h WHERE h.name = d.name ORDER BY h.due_at DESC LIMIT 1
    ) AS l ON true
    ORDER BY d.name
""")
async def all_of_them(connection: AsyncConnection) -> list[Duty]: ...
