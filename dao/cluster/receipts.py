"""What became of the runs of a master that is gone: counted from the rows of commands, runs and attempts. Reads only.

A run was the master's if the last command before its failover that gave it an owner was handled by that master.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from dao.cluster.rows import SlotChange, TakenBy
from dao.cluster.slot_changes import read_change
from dao.postgres.pool import AsyncConnection
from dao.postgres.sql import Sql
from dao.postgres.statements import made_by, missing, statement
from model.ids import Epoch

READ_MAX = 10_000
"""Of the failovers after a change of slots so many are read, the first."""


@dataclass(frozen=True, slots=True)
class GoneMaster:
    """The end of a master; None where its row does not say so, or is deleted."""

    last_beat_at: datetime | None
    ended_at: datetime | None
    ended_why: str | None


@dataclass(frozen=True, slots=True)
class LeftOver:
    """What is not as it should be: all 0 if everything was failed over once.

    `waiting` are unfinished runs of the master whose failover is asked for, `lost` those for which nothing is asked, or
    whose failover was refused and which nobody drives. `runs_doubled` are runs that two masters got, `tasks_doubled`
    attempts that began before an earlier attempt of the same task had ended.
    """

    waiting: int
    lost: int
    runs_doubled: int
    tasks_doubled: int


_LEFT_OVER = Sql("""
    WITH of_it AS MATERIALIZED (SELECT * FROM taken_from(:epoch, CAST(:since AS timestamptz), :read)), asked AS (
        SELECT EXISTS (SELECT FROM command c                                    -- index: command_one_recover
                       WHERE c.type = 'RECOVER_TOLERANCE_FAULT_PROCESS' AND c.workflow_instance_id = i.id) AS is_asked
        FROM workflow_instance i                                                -- index: workflow_instance_unfinished
        WHERE i.master_id = :epoch AND i.ended_at IS NULL
          AND i.state IN ('RUNNING_EXECUTION', 'READY_PAUSE', 'READY_STOP', 'FAILOVER')  -- a master must drive it
    )
    SELECT (SELECT count(*) FROM asked WHERE is_asked),
           (SELECT count(*) FROM asked WHERE NOT is_asked)
           + (SELECT count(DISTINCT o.run) FROM of_it o
              LEFT JOIN workflow_instance i ON i.id = o.run
              LEFT JOIN node n ON n.id = i.master_id AND n.kind = 'MASTER' AND n.state IN ('ALIVE', 'LEAVING')
              WHERE i.id IS NULL OR o.outcome = 'ERROR' AND i.ended_at IS NULL AND i.master_id <> :epoch
                                    AND n.id IS NULL),
           (SELECT count(*) FROM (SELECT FROM of_it WHERE outcome = 'DONE' GROUP BY run HAVING count(*) > 1) AS twice),
           (SELECT coalesce(sum(own.overlapping), 0)::int FROM (SELECT DISTINCT run FROM of_it) AS o
            CROSS JOIN LATERAL (
                SELECT count(*) AS overlapping FROM task_instance a JOIN task_instance b
                  ON b.workflow_instance_id = a.workflow_instance_id AND b.task_code = a.task_code
                     AND b.attempt > a.attempt
                WHERE a.workflow_instance_id = o.run AND b.workflow_instance_id = o.run
                  AND a.started_at IS NOT NULL AND b.started_at < coalesce(a.ended_at, 'infinity')
                OFFSET 0) AS own),
           (SELECT count(*) >= :read FROM (
               SELECT FROM command_history                                      -- index: command_history_recover
               WHERE type = 'RECOVER_TOLERANCE_FAULT_PROCESS' AND handled_at >= CAST(:since AS timestamptz)
               ORDER BY handled_at LIMIT :read) AS taken)
""")


# Last, how the masters that were lost in the change ended since, by epoch.
@missing("there is no slot change {number} on record; they are kept for 24 hours")
@made_by(lambda row: read_change(*row))
@statement("""
    SELECT s.number, s.at, s.members, s.changes,
           coalesce((SELECT jsonb_object_agg(n.id, n.state) FROM node n
                     WHERE n.state IN ('FENCED', 'LEFT') AND n.id IN (
                         SELECT CAST(each ->> 'epoch' AS bigint) FROM jsonb_array_elements(s.changes) AS each
                         WHERE each ->> 'reason' = 'LOST')), '{}')
    FROM slot_change s WHERE s.number = :number
""")
async def change(connection: AsyncConnection, number: int) -> SlotChange:
    """A change of slots. Raises `NotFound`: it is older than 24 hours, or there was none."""


@statement("""
    SELECT b.beaten_at, CASE WHEN n.state IN ('LEFT', 'FENCED') THEN n.ended_at END, n.ended_why
    FROM (SELECT CAST(:epoch AS bigint) AS id) AS wanted
    LEFT JOIN node n ON n.id = wanted.id LEFT JOIN node_beat b ON b.node_id = wanted.id
""")
async def end_of(connection: AsyncConnection, epoch: Epoch) -> GoneMaster: ...


@statement("""
    SELECT o.master_id, coalesce(nullif(n.name, ''), n.address, o.master_id::text), count(DISTINCT o.run),
           coalesce(sum(own.tasks), 0)::int, max(o.handled_at)
    FROM taken_from(:epoch, CAST(:since AS timestamptz), :READ_MAX) AS o LEFT JOIN node n ON n.id = o.master_id
    CROSS JOIN LATERAL (
        SELECT count(*) AS tasks FROM task_instance t                           -- index: task_instance_attempt
        WHERE t.workflow_instance_id = o.run AND t.queued_at <= o.handled_at
          AND (t.ended_at IS NULL OR t.ended_at > o.handled_at) OFFSET 0) AS own
    WHERE o.outcome = 'DONE' GROUP BY 1, 2 ORDER BY 1
""")
async def taken_by(connection: AsyncConnection, epoch: Epoch, since: datetime) -> list[TakenBy]:
    """Which masters got runs of this one by failovers from `since` on, and how many."""


async def left_over(connection: AsyncConnection, epoch: Epoch, since: datetime) -> tuple[LeftOver, bool]:
    """What is not as it should be of that, and whether all failovers since then were read."""
    values = {"epoch": epoch, "since": since, "read": READ_MAX}
    *counts, is_cut = (await connection.execute(_LEFT_OVER, values)).one()
    return LeftOver(*counts), not is_cut
