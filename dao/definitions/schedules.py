"""`schedule`: cron rules that start workflows; written by people, fired by the masters.

A fire is a compare-and-set on `next_fire_at`, in one statement with the commands that it inserts: of two masters that
believe in the same slot the second finds another value and does nothing. `updated_at` is compared too, so that nobody
fires by a crontab that was changed meanwhile.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from dao.postgres.database import FencedTransaction
from dao.postgres.notify import SCHEDULE
from dao.postgres.pool import AsyncConnection
from dao.postgres.sql import Sql
from dao.postgres.statements import changing, missing, notifying, statement
from model.changes import Changes
from model.cluster.slots import Slot
from model.errors import NotFound
from model.ids import ScheduleId, WorkflowCode
from model.time.schedules import ScheduleRow, ScheduleSpec

# Times as text, here and below: an infinite one, or one in the year 10000, would otherwise fail the fetch of all.
#
# The order and the bound are those of the index `schedule_due`; a schedule with a problem is not due until it is
# changed. now(), not clock_timestamp(): only now() can be the bound of an index scan.
_DUE = Sql("""
    SELECT now() AS computed_at,
           s.id, s.workflow_code, s.crontab, s.time_zone, s.start_time::text, s.end_time::text, s.state, s.misfire,
           s.misfire_grace_s, s.next_fire_at::text, s.last_fire_at::text, s.problem, s.updated_at::text,
           s.counts_from::text
    FROM schedule s                                -- index: schedule_due
    WHERE s.state = 'ONLINE' AND s.problem IS NULL AND s.id % :total = :current
      AND coalesce(s.next_fire_at, 'epoch') <= now()
    ORDER BY coalesce(s.next_fire_at, 'epoch'), s.id
    LIMIT :limit
""")
_NEXT_DUE = Sql("""
    SELECT CASE WHEN isfinite(due.at) THEN extract(epoch FROM due.at - now())::float8
                WHEN due.at < now() THEN 0 END AS due_in_s
    FROM (
        SELECT coalesce(s.next_fire_at, 'epoch') AS at
        FROM schedule s                            -- index: schedule_due
        WHERE s.state = 'ONLINE' AND s.problem IS NULL AND s.id % :total = :current
        ORDER BY coalesce(s.next_fire_at, 'epoch'), s.id
        LIMIT 1
    ) AS due
""")
_NEXT_TO_COME = Sql("""
    SELECT CASE WHEN isfinite(due.at) THEN extract(epoch FROM due.at - now())::float8
                WHEN due.at < now() THEN 0 END AS due_in_s
    FROM (
        SELECT coalesce(s.next_fire_at, 'epoch') AS at
        FROM schedule s                            -- index: schedule_due
        WHERE s.state = 'ONLINE' AND s.problem IS NULL AND s.id % :total = :current
          AND coalesce(s.next_fire_at, 'epoch') > now()
        ORDER BY coalesce(s.next_fire_at, 'epoch'), s.id
        LIMIT 1
    ) AS due
""")

# SKIP LOCKED: a schedule that another master fires now is not ours to fire, and two batches cannot wait for each other.
# LATERAL and by ctid: row by row through the key, however few schedules the statistics show (see
# dao/commands/commands.py). num_nonnulls keeps the planner from using schedule_due, all of which it would read for each
# row.
_FIRE = Sql("""
    WITH picked AS MATERIALIZED (
        SELECT p.*, s.place
        FROM unnest(CAST(:ids AS bigint[]), CAST(:seen AS timestamptz[]), CAST(:versions AS timestamptz[]),
                    CAST(:next AS timestamptz[]), CAST(:last AS timestamptz[]), CAST(:problems AS text[]))
             AS p (id, seen, version, next_fire_at, last_fire_at, problem)
        CROSS JOIN LATERAL (
            SELECT schedule.ctid AS place FROM schedule                            -- index: schedule_pkey
            WHERE schedule.id = p.id
              AND schedule.next_fire_at IS NOT DISTINCT FROM p.seen AND schedule.updated_at = p.version
              AND schedule.state = 'ONLINE' AND num_nonnulls(schedule.problem) = 0
            FOR UPDATE SKIP LOCKED
        ) AS s
    ), fired AS (
        UPDATE schedule s SET next_fire_at = p.next_fire_at, last_fire_at = coalesce(p.last_fire_at, s.last_fire_at),
                              problem = p.problem
        FROM picked p
        WHERE s.ctid = ANY(ARRAY(SELECT place FROM picked)) AND s.id = p.id
        RETURNING s.*
    ), asked AS (
        INSERT INTO command (type, workflow_code, params, priority, failure_strategy, worker_group, environment,
                             warning_type, alert_group, schedule_time, time_zone, schedule_id, created_by)
        SELECT 'SCHEDULER', fired.workflow_code, fired.params, fired.priority, fired.failure_strategy,
               fired.worker_group, fired.environment, fired.warning_type, fired.alert_group, fire.at, fired.time_zone,
               fired.id, 'schedule'
        FROM unnest(CAST(:fire_ids AS bigint[]), CAST(:fire_times AS timestamptz[])) AS fire (id, at)
        JOIN fired ON fired.id = fire.id
        ORDER BY fire.at, fire.id
        RETURNING schedule_id
    )
    SELECT fired.id, (SELECT count(*) FROM asked WHERE asked.schedule_id = fired.id) AS commands FROM fired
""")


@dataclass(frozen=True, slots=True)
class DueSchedules:
    """The due schedules, the longest waiting first, and the database's time of the check."""

    now: datetime
    rows: list[ScheduleRow]


@dataclass(frozen=True, slots=True)
class Fire:
    """The result for one schedule: the times that get a command, and when it is due again.

    Args:
        row: as it was read; nothing happens if it has changed since.
        times: aware, ascending; may be empty.
        next_fire: aware; None only together with a `problem`.
        problem: a message, why it no longer fires.
    """

    row: ScheduleRow
    times: Sequence[datetime]
    next_fire: datetime | None
    problem: str | None = None


async def due(connection: AsyncConnection, slot: Slot | None, limit: int) -> DueSchedules | None:
    """Up to `limit` ONLINE schedules of a slot that are to be fired or computed; None if there are none, or no slot."""
    if slot is None:
        return None
    values = {"current": slot.current, "total": slot.total, "limit": limit}
    rows = (await connection.execute(_DUE, values)).all()
    return DueSchedules(rows[0].computed_at, [ScheduleRow(*row[1:]) for row in rows]) if rows else None


async def next_due_in_s(connection: AsyncConnection, slot: Slot | None, *, to_come: bool = False) -> float | None:
    """Seconds until the next schedule of a slot is due, not positive if one is; None if none will be.

    `to_come`: only schedules that are not due yet.
    """
    if slot is None:
        return None
    query = _NEXT_TO_COME if to_come else _NEXT_DUE
    due_in_s = (await connection.execute(query, {"current": slot.current, "total": slot.total})).scalar()
    return None if due_in_s is None else float(due_in_s)


async def fire(connection: FencedTransaction, fires: Sequence[Fire]) -> dict[ScheduleId, int]:
    """Insert the commands of all schedules that nobody fired or changed since they were read; returns how many of each.

    Schedules missing in the result were not ours to fire: read them again.
    """
    times = [(each.row.id, time) for each in fires for time in each.times]
    values = {
        "ids": [each.row.id for each in fires],
        "seen": [each.row.next_fire_at for each in fires],
        "versions": [each.row.updated_at for each in fires],
        "next": [each.next_fire for each in fires],
        "last": [max(each.times, default=None) for each in fires],
        "problems": [each.problem for each in fires],
        "fire_ids": [id_ for id_, _ in times],
        "fire_times": [time for _, time in times],
    }
    return {ScheduleId(row.id): row.commands for row in await connection.execute(_FIRE, values)}


@statement("""
    SELECT s.id, s.workflow_code, s.crontab, s.time_zone, s.start_time::text, s.end_time::text, s.state, s.misfire,
           s.misfire_grace_s, s.next_fire_at::text, s.last_fire_at::text, s.problem, s.updated_at::text,
           s.counts_from::text, d.name, d.project, s.from_file
    FROM schedule s                                -- index: schedule_of_workflow
    LEFT JOIN workflow_definition d ON d.code = s.workflow_code
    WHERE s.workflow_code = :workflow ORDER BY s.id
""")
async def of_workflow(connection: AsyncConnection, workflow: WorkflowCode) -> list[ScheduleRow]: ...


def _not_found(id_: ScheduleId) -> NotFound:
    return NotFound(f"there is no schedule {id_}; `shoal schedule list` lists those there are")


@missing(_not_found)
@statement("""
    SELECT s.id, s.workflow_code, s.crontab, s.time_zone, s.start_time::text, s.end_time::text, s.state, s.misfire,
           s.misfire_grace_s, s.next_fire_at::text, s.last_fire_at::text, s.problem, s.updated_at::text,
           s.counts_from::text, d.name, d.project, s.from_file
    FROM schedule s LEFT JOIN workflow_definition d ON d.code = s.workflow_code
    WHERE s.id = :id_
""")
async def find(connection: AsyncConnection, id_: ScheduleId) -> ScheduleRow:
    """One schedule. Raises `NotFound`."""


@notifying(SCHEDULE)
@changing(lambda workflow: Changes(definitions={workflow}))
@statement("""
    INSERT INTO schedule (workflow_code, state, crontab, time_zone, start_time, end_time, params, misfire,
                          misfire_grace_s, priority, failure_strategy, warning_type, alert_group, worker_group,
                          environment)
    VALUES (:workflow, CASE WHEN :online THEN 'ONLINE' ELSE 'OFFLINE' END, :spec.crontab, :spec.time_zone,
            :spec.start_time, :spec.end_time, :spec.params, :spec.misfire, :spec.misfire_grace_s, :spec.priority,
            :spec.failure_strategy, :spec.warning_type, :spec.alert_group, :spec.worker_group, :spec.environment)
    RETURNING id
""")
async def insert(
    connection: AsyncConnection, workflow: WorkflowCode, spec: ScheduleSpec, *, online: bool = True
) -> ScheduleId:
    """Save a new schedule; its times count from now. The caller checks it first: `ScheduleSpec.checked`."""


# The trigger resets computed values, and the time from which fires count, when a value changes that they depend on.
@notifying(SCHEDULE)
@changing(lambda result: Changes(definitions={result}))
@missing(_not_found)
@statement("""
    UPDATE schedule
    SET crontab = :spec.crontab, time_zone = :spec.time_zone, start_time = :spec.start_time,
        end_time = :spec.end_time, params = :spec.params, misfire = :spec.misfire,
        misfire_grace_s = :spec.misfire_grace_s, priority = :spec.priority,
        failure_strategy = :spec.failure_strategy, warning_type = :spec.warning_type, alert_group = :spec.alert_group,
        worker_group = :spec.worker_group, environment = :spec.environment, updated_at = clock_timestamp()
    WHERE id = :id_
    RETURNING workflow_code
""")
async def change(connection: AsyncConnection, id_: ScheduleId, spec: ScheduleSpec) -> WorkflowCode:
    """Save new content; if the fire times changed, they count from now. Raises `NotFound`."""


# Setting ONLINE again retries a schedule with a problem, and changes nothing for one that works.
@notifying(SCHEDULE)
@changing(lambda result: Changes(definitions={result}))
@missing(_not_found)
@statement("""
    UPDATE schedule
    SET state = CASE WHEN :online THEN 'ONLINE' ELSE 'OFFLINE' END, updated_at = clock_timestamp(), problem = NULL,
        next_fire_at = CASE WHEN (state = 'ONLINE') = :online AND problem IS NULL THEN next_fire_at END
    WHERE id = :id_
    RETURNING workflow_code
""")
async def set_state(connection: AsyncConnection, id_: ScheduleId, *, online: bool) -> WorkflowCode:
    """Set a schedule ONLINE, its times counted from now, or OFFLINE. Times that passed while OFFLINE are not missed.

    Raises `NotFound`.
    """


@changing(lambda result: Changes(definitions={result}))
@missing(_not_found)
@statement("DELETE FROM schedule WHERE id = :id_ RETURNING workflow_code")
async def remove(connection: AsyncConnection, id_: ScheduleId) -> WorkflowCode:
    """Delete a schedule; commands and runs that it started already continue. Raises `NotFound`."""
