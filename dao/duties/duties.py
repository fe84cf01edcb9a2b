"""`duty` and `duty_done`: each duty is done once a period, by one master at a time, without a lock between its steps.

A step is one fenced transaction: it takes the duty by compare-and-set (`take`), does its part, and records that
(`record`). So a step that is lost with its master has done nothing, the period is recorded with what was done for it,
and no two steps of a duty run at once: the row is locked while a step runs, which the server ends if its master hangs
(`idle_in_transaction_session_timeout`). Between two steps nothing is locked: `holder` and `free_at` say who goes on.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from dao.cluster.nodes import Me
from dao.postgres.database import FencedTransaction
from dao.postgres.pool import AsyncConnection
from dao.postgres.sql import Sql
from dao.postgres.statements import made_by, statement
from model.cluster.duties import HELD, OVERDUE, PAUSE_MAX, DutyName, Step, pause_after  # noqa: F401 - in statements
from model.ids import Epoch


@dataclass(frozen=True, slots=True)
class TakenDuty:
    """A duty of which this transaction does a step. `steps`: how many were done for this period before;
    `failures`: how many failed since one last succeeded."""

    name: str
    due_at: datetime
    steps: int
    failures: int
    progress: Mapping[str, Any]


class Next(NamedTuple):
    """What a master may do.

    Args:
        rows: how many of the duties that it knows have a row.
        due: of how many it may do a step now.
        in_s: seconds until it may do a step of any other; None if there is no other.
    """

    rows: int
    due: int
    in_s: float | None


_GO_ON = Sql("""
    UPDATE duty SET steps = steps + 1, progress = CAST(:progress AS jsonb), failures = 0,
                    free_at = clock_timestamp() + CAST(:HELD AS interval)
    WHERE name = :name AND holder = :me AND due_at = :due_at
    RETURNING 0::float8
""")
# The next period begins at a whole number of periods after this one: those that nobody was there for are left out.
_END = Sql("""
    WITH ended AS (
        UPDATE duty d SET holder = NULL, free_at = '-infinity', began_at = NULL, steps = 0, progress = '{}',
                          failures = 0,
                          due_at = d.due_at + (1 + floor(greatest(0, extract(epoch FROM m.now - d.due_at)) / d.every_s))
                                              * d.every_s * interval '1 s'
        FROM (SELECT clock_timestamp() AS now) AS m,
             (SELECT began_at, steps FROM duty WHERE name = :name) AS former
        WHERE d.name = :name AND d.holder = :me AND d.due_at = :due_at
        RETURNING d.name, former.began_at, former.steps, m.now, d.due_at AS following_at
    ), recorded AS (
        INSERT INTO duty_done (name, due_at, node_id, node_name, began_at, ended_at, steps, late, is_fine, result)
        SELECT name, :due_at, :me, :node_name, coalesce(began_at, now), now, steps + 1, :late, :is_fine, :result
        FROM ended
        ON CONFLICT (name, due_at) DO NOTHING   -- somebody set due_at back
    )
    SELECT extract(epoch FROM following_at - now)::float8 FROM ended
""")
# It begins from the beginning: what the steps before recorded may be why it fails.
_FAILED = Sql("""
    UPDATE duty SET holder = NULL, steps = 0, progress = '{}', failures = least(failures, 1000000) + 1,
                    error = :error, error_at = clock_timestamp(),
                    free_at = clock_timestamp() + CAST(:pause AS interval)
    WHERE name = :name AND due_at = :due_at AND (holder IS NULL OR holder = :me OR free_at <= clock_timestamp())
""")


# When this master may do the next step; null = there is nothing to do, which is found out here, so that a duty that is
# done often costs no statement meanwhile. A due_at further away than a period, or a free_at further away than any
# pause, was written by hand or before the database's clock was set: it does not keep everybody away for ever.
@statement("""
    WITH m AS MATERIALIZED (SELECT clock_timestamp() AS now)
    SELECT count(*), count(*) FILTER (WHERE may_at <= now),
           extract(epoch FROM min(may_at) FILTER (WHERE may_at > now) - min(now))::float8
    FROM (SELECT m.now,
                 CASE WHEN d.name = 'alert_rules' AND d.steps = 0 AND NOT EXISTS (
                          SELECT FROM alerts_waiting() AS a
                          WHERE a.ends OR a.rules OR a.refused OR a.late_tasks OR a.lost_nodes) THEN NULL
                      ELSE greatest(
                          CASE WHEN d.due_at > m.now + d.every_s * interval '1 s'
                               THEN m.now - CAST(:OVERDUE AS interval)
                               ELSE d.due_at END
                            + CASE WHEN d.name = ANY(CAST(:mine AS text[])) OR d.holder IS NOT DISTINCT FROM :me
                                   THEN interval '0 s' ELSE CAST(:OVERDUE AS interval) END,
                          CASE WHEN d.holder = :me OR d.free_at > m.now + CAST(:PAUSE_MAX AS interval)
                                    OR (d.holder IS NOT NULL
                                        AND (SELECT n.id FROM node n
                                             WHERE n.id = d.holder AND n.kind = 'MASTER'
                                               AND n.state IN ('ALIVE', 'LEAVING')) IS NULL)
                               THEN '-infinity' ELSE d.free_at END) END AS may_at
          FROM m CROSS JOIN duty d WHERE d.name = ANY(CAST(:known AS text[]))     -- index: duty_pkey
          OFFSET 0) AS each
""")
async def read_next(connection: AsyncConnection, me: Epoch, mine: Collection[str], known: Collection[str]) -> Next:
    """Read what this master may do now, and when it may do more.

    Args:
        me: this master.
        mine: those whose turn it is.
        known: those that its program knows.
    """


@statement("""
    INSERT INTO duty (name, every_s) SELECT name, extract(epoch FROM every)::float8
    FROM unnest(CAST(:periods AS text[]), CAST(:periods.values AS interval[])) AS new (name, every)
    ON CONFLICT (name) DO NOTHING
""")
async def add(connection: FencedTransaction, periods: Mapping[DutyName, timedelta]) -> None:
    """Add those that have no row; they are due at once."""


def _progress(text_: str) -> Mapping[str, Any]:
    """What the steps before recorded; nothing if somebody wrote what only the database can read, so that the duty
    begins from the beginning: nobody could take any duty if taking this one failed."""
    try:
        progress: dict[str, Any] = json.loads(text_)
    except (ValueError, RecursionError):  # a number of thousands of digits, a list in a list in a list
        return {}
    return progress


# What has done fewer steps first, so that a long duty does not keep the others waiting.
@made_by(lambda row: TakenDuty(row.name, row.due_at, row.steps, row.failures, _progress(row.progress)))
@statement("""
    WITH m AS MATERIALIZED (SELECT clock_timestamp() AS now), next AS MATERIALIZED (
        SELECT d.name FROM m CROSS JOIN duty d                                    -- index: duty_pkey
        WHERE d.name = ANY(CAST(:known AS text[]))
          AND CASE WHEN d.name = 'alert_rules' AND d.steps = 0 AND NOT EXISTS (
                       SELECT FROM alerts_waiting() AS a
                       WHERE a.ends OR a.rules OR a.refused OR a.late_tasks OR a.lost_nodes) THEN NULL
                   ELSE greatest(
                       CASE WHEN d.due_at > m.now + d.every_s * interval '1 s'
                            THEN m.now - CAST(:OVERDUE AS interval)
                            ELSE d.due_at END
                         + CASE WHEN d.name = ANY(CAST(:mine AS text[])) OR d.holder IS NOT DISTINCT FROM :me
                                THEN interval '0 s' ELSE CAST(:OVERDUE AS interval) END,
                       CASE WHEN d.holder = :me OR d.free_at > m.now + CAST(:PAUSE_MAX AS interval)
                                 OR (d.holder IS NOT NULL
                                     AND (SELECT n.id FROM node n
                                          WHERE n.id = d.holder AND n.kind = 'MASTER'
                                            AND n.state IN ('ALIVE', 'LEAVING')) IS NULL)
                            THEN '-infinity' ELSE d.free_at END) END <= m.now
        ORDER BY d.steps, d.due_at, d.name LIMIT 1
        FOR UPDATE OF d SKIP LOCKED
    )
    UPDATE duty d SET holder = :me, free_at = m.now + CAST(:HELD AS interval), began_at = coalesce(d.began_at, m.now),
                      due_at = least(d.due_at, m.now)
    FROM m, next WHERE d.name = next.name
    RETURNING d.name, d.due_at, d.steps, d.failures, d.progress::text AS progress
""")
async def take(
    connection: FencedTransaction, me: Epoch, mine: Collection[str], known: Collection[str]
) -> TakenDuty | None:
    """Take a duty for one step, if there is one whose next step this master may do; see `read_next`."""


async def record(connection: FencedTransaction, me: Me, duty: TakenDuty, step: Step, *, late: bool) -> float | None:
    """Record a step, and the period if it is over: seconds until the next step may be done.

    None if the duty is no longer ours: somebody wrote its row.
    """
    values: dict[str, Any] = {"name": duty.name, "due_at": duty.due_at, "me": me.epoch}
    if step.is_over:
        values |= {"node_name": me.name or me.address, "late": late, "is_fine": step.is_fine, "result": step.result}
        statement = _END
    else:
        values |= {"progress": json.dumps(dict(step.progress)), "HELD": HELD}
        statement = _GO_ON
    in_s: float | None = (await connection.execute(statement, values)).scalar()
    return in_s


async def failed(connection: FencedTransaction, me: Epoch, duty: TakenDuty, error: str) -> None:
    """Record that a step failed, and that nobody tries it again for a while."""
    pause = pause_after(duty.failures + 1)
    values = {"name": duty.name, "due_at": duty.due_at, "me": me, "error": error, "pause": pause}
    await connection.execute(_FAILED, values)


@statement("""
    DELETE FROM duty_done WHERE (name, due_at) IN (
        SELECT name, due_at FROM duty_done WHERE ended_at < now() - CAST(:kept AS interval)  -- index: duty_done_ended
        ORDER BY ended_at LIMIT :limit FOR UPDATE SKIP LOCKED)
""")
async def delete_old(connection: FencedTransaction, kept: timedelta, limit: int) -> int:
    """Delete up to `limit` rows of duties that were done more than `kept` ago. Returns how many."""
