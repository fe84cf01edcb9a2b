"""Runs whose time is over: which of them may go, and their deletion with all that belongs to them.

A run goes when it ended longer ago than its project keeps runs, unless it has a parent or an unfinished run below it, a
command waits that lets it go on, or a DEPENDENT task may need it (docs/guides/retention.md). A parent goes before its
children: so nothing that can still be continued misses a child, and no child is made again.

Each statement deletes a bounded number of rows, however large a run is: what is left of its attempts is deleted later,
for its row in `deleted_run`.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dao.postgres.database import FencedTransaction
from dao.postgres.errors import BadData, translating
from dao.postgres.pool import AsyncConnection
from dao.postgres.sql import Sql
from dao.postgres.statements import statement
from dao.retention.floor import ID_STEP
from model.errors import Unavailable
from model.ids import WorkflowCode, WorkflowInstanceId
from model.runs.retention_pace import DEPENDENT_REACH, READ_MAX, ROWS_MAX  # noqa: F401 - in a statement

OVERDUE_READS = 50


@dataclass(frozen=True, slots=True)
class OldRuns:
    """A part of a walk over the runs by id: which of those that were read may go.

    `ended_at` is each time as text: people may write some that Python has none for. `after`: up to which the walk has
    come; `is_over`: no later run can be old enough.
    """

    ids: Sequence[WorkflowInstanceId]
    ended_at: Sequence[str]
    after: int
    is_over: bool


@dataclass(frozen=True, slots=True)
class Deleted:
    """How many runs and attempts were deleted, and how long that took; `why_not` is why nothing was, if that failed."""

    runs: int
    attempts: int
    took_s: float
    why_not: str | None = None


# What was continued meanwhile, or is locked, stays. Commands of the history that are left go as those without a run do,
# and events as those that nobody will read.
#
# `history` deletes what `dao/retention/floor.py` allows, and `floor` raises the floor to it. The first command that
# waits is read with its type, which no index has: for the id alone the planner would read the whole of another index
# where the statistics saw no commands.
_DELETE = Sql("""
    WITH going AS MATERIALIZED (
        SELECT i.id, i.command_id
        FROM unnest(CAST(:ids AS bigint[]), CAST(:ended_at AS timestamptz[])) AS o (id, ended_at)
        JOIN workflow_instance i ON i.id = o.id AND coalesce(i.ended_at = o.ended_at, false)
        FOR UPDATE OF i SKIP LOCKED
    ), own AS MATERIALIZED (
        SELECT t.id FROM going g CROSS JOIN LATERAL (
            SELECT id FROM task_instance                                            -- index: task_instance_attempt
            WHERE workflow_instance_id = g.id OFFSET 0) AS t
        LIMIT :rows_max
    ), left_over AS (
        INSERT INTO deleted_run (id) SELECT id FROM going WHERE (SELECT count(*) FROM own) = :rows_max
        ON CONFLICT DO NOTHING
    ), attempts AS (
        DELETE FROM task_instance WHERE id = ANY(ARRAY(SELECT id FROM own)) RETURNING id
    ), logs AS (                                                                    -- index: stored_log_pkey
        DELETE FROM stored_log WHERE task_instance_id = ANY(ARRAY(SELECT id FROM attempts))
    ), events AS (
        DELETE FROM task_event WHERE ctid = ANY(ARRAY(                              -- index: task_event_run
            SELECT ctid FROM task_event WHERE workflow_instance_id = ANY(ARRAY(SELECT id FROM going)) LIMIT :rows_max))
    ), asked AS (
        (SELECT h.command_id FROM command_history h                                 -- index: command_history_run
         WHERE h.workflow_instance_id = ANY(ARRAY(SELECT id FROM going))
           AND h.type NOT IN ('START_PROCESS', 'SCHEDULER', 'COMPLEMENT_DATA', 'START_CURRENT_TASK_PROCESS')
         LIMIT :rows_max)
        UNION ALL SELECT command_id FROM going
    ), history AS (
        DELETE FROM command_history
        WHERE command_id = ANY(ARRAY(SELECT command_id FROM asked)) AND handled_at < now() - interval '1 d'
          AND command_id < coalesce((SELECT id FROM (SELECT id, type FROM command             -- index: command_pkey
                                                     ORDER BY id ASC LIMIT 1) AS c
                                     WHERE length(type) >= 0), 9223372036854775807)
          AND command_id < (SELECT max(command_id) FROM command_history)
          AND command_id < coalesce((SELECT i.command_id FROM workflow_instance i       -- index: workflow_instance_pkey
                                     ORDER BY i.id DESC LIMIT 1), 9223372036854775807)
        RETURNING command_id
    ), errors AS (
        DELETE FROM error_command WHERE command_id IN (SELECT command_id FROM history)
    ), floor AS (
        INSERT INTO history_floor (step, residue, command_id)
        SELECT :id_step, command_id % :id_step, max(command_id) FROM history GROUP BY command_id % :id_step
        ON CONFLICT (step, residue)
            DO UPDATE SET command_id = greatest(history_floor.command_id, excluded.command_id)
    ), runs AS (
        DELETE FROM workflow_instance WHERE id = ANY(ARRAY(SELECT id FROM going)) RETURNING id
    )
    SELECT (SELECT count(*) FROM runs), (SELECT count(*) FROM attempts)
""")
_DELETE_LEFT = Sql("""
    WITH own AS MATERIALIZED (
        SELECT id FROM task_instance WHERE workflow_instance_id = :run              -- index: task_instance_attempt
        LIMIT :rows_max
    ), attempts AS (
        DELETE FROM task_instance WHERE id = ANY(ARRAY(SELECT id FROM own)) RETURNING id
    ), logs AS (                                                                    -- index: stored_log_pkey
        DELETE FROM stored_log WHERE task_instance_id = ANY(ARRAY(SELECT id FROM attempts))
    ), done AS (
        DELETE FROM deleted_run WHERE id = :run AND (SELECT count(*) FROM own) < :rows_max
    )
    SELECT 0, (SELECT count(*) FROM attempts)
""")
# Of the next runs by id: what is over for longest.
_OVERDUE = Sql("""
    SELECT count(over_since), coalesce(max(extract(epoch FROM now() - over_since)), 0)::float8 / 86400, max(id),
           count(*) < :read_max
               OR coalesce(min(started_at) FILTER (WHERE started_at <= now())
                               >= now() - (SELECT make_interval(days => min(days)) FROM (
                                               SELECT kept_days AS days FROM project WHERE kept_days > 0
                                               UNION ALL SELECT CAST(:kept_days AS integer)
                                                         WHERE :kept_days > 0) AS each),
                           (SELECT make_interval(days => min(days)) FROM (
                                SELECT kept_days AS days FROM project WHERE kept_days > 0
                                UNION ALL SELECT CAST(:kept_days AS integer) WHERE :kept_days > 0) AS each) IS NULL)
    FROM (
        SELECT i.id, i.started_at,
               CASE WHEN i.parent_instance_id IS NULL AND isfinite(i.ended_at)
                     AND i.ended_at < now() - (
                             CASE WHEN coalesce(p.kept_days, :kept_days) > 0
                                  THEN make_interval(days => coalesce(p.kept_days, CAST(:kept_days AS integer))) END)
                    THEN i.ended_at + (
                             CASE WHEN coalesce(p.kept_days, :kept_days) > 0
                                  THEN make_interval(days => coalesce(p.kept_days, CAST(:kept_days AS integer))) END)
                    END AS over_since
        FROM (SELECT * FROM workflow_instance
              WHERE id > :after ORDER BY id LIMIT :read_max) AS i                  -- index: workflow_instance_pkey
        LEFT JOIN workflow_definition d ON d.code = i.workflow_code
        LEFT JOIN deleted_workflow gone ON gone.code = i.workflow_code
        LEFT JOIN project p ON p.name = coalesce(d.project, gone.project)) AS each
""")


# Ids rise with time: behind a batch in which every run began later than the shortest time ago, nothing is old enough.
# Times in the future say nothing: the clock, or somebody, was wrong.
# Of the runs that were read, only those are examined that this step deletes, and their attempts are counted only
# until there are enough: `old` is evaluated as its readers need it, in the order of the ids. From the unfinished runs
# up, not from a run down: it may have a million children.
#
# `p` is the project of the workflow, or the one that it was of when it was deleted. The time for which it keeps what
# has ended is null if that is for ever; `horizon` is the shortest of these times ago, and null if all is kept for ever.
@statement("""
    WITH RECURSIVE m AS MATERIALIZED (
        SELECT now() AS now,
               now() - (SELECT make_interval(days => min(days)) FROM (
                            SELECT kept_days AS days FROM project WHERE kept_days > 0
                            UNION ALL SELECT CAST(:kept_days AS integer) WHERE :kept_days > 0) AS each) AS horizon
    ), above_unfinished (id) AS (
        SELECT parent_instance_id FROM workflow_instance                   -- index: workflow_instance_unfinished
        WHERE ended_at IS NULL AND coalesce(parent_instance_id, 0) > 0
        UNION
        SELECT w.parent_instance_id FROM above_unfinished a JOIN workflow_instance w ON w.id = a.id
        WHERE coalesce(w.parent_instance_id, 0) > 0
    ), walked AS MATERIALIZED (
        SELECT coalesce(max(id), :after) AS last,
               count(*) < :READ_MAX OR coalesce(min(started_at) FILTER (WHERE started_at <= now) >= min(horizon),
                                                min(horizon) IS NULL) AS is_over
        FROM m CROSS JOIN (SELECT i.id, i.started_at FROM workflow_instance i
                           WHERE i.id > :after ORDER BY i.id LIMIT :READ_MAX) AS r   -- index: workflow_instance_pkey
    ), old AS NOT MATERIALIZED (
        SELECT i.id, i.ended_at
        FROM m CROSS JOIN workflow_instance i                                        -- index: workflow_instance_pkey
        LEFT JOIN workflow_definition d ON d.code = i.workflow_code
        LEFT JOIN deleted_workflow gone ON gone.code = i.workflow_code
        LEFT JOIN project p ON p.name = coalesce(d.project, gone.project)
        WHERE i.id > :after AND i.id <= (SELECT last FROM walked)
          AND i.ended_at < m.now - (CASE WHEN coalesce(p.kept_days, :kept_days) > 0
                                         THEN make_interval(days => coalesce(p.kept_days, CAST(:kept_days AS integer)))
                                    END)
          AND NOT EXISTS (
              SELECT FROM command c WHERE c.workflow_instance_id = i.id             -- index: command_resume
              AND c.type IN ('RECOVER_SUSPENDED_PROCESS', 'START_FAILURE_TASK_PROCESS', 'REPEAT_RUNNING',
                             'EXECUTE_TASK'))
          AND NOT (i.workflow_code = ANY(CAST(:waited AS bigint[])))
          AND NOT (i.workflow_code = ANY(CAST(:named AS bigint[]))
                   AND i.schedule_time > m.now - CAST(:DEPENDENT_REACH AS interval))
          AND (SELECT 1 FROM workflow_instance above WHERE above.id = i.parent_instance_id) IS NULL
          AND NOT ((SELECT 1 FROM workflow_instance c WHERE c.parent_instance_id = i.id LIMIT 1) IS NOT NULL
                   AND i.id IN (SELECT id FROM above_unfinished))
    ), enough AS MATERIALIZED (     -- the run with the last attempt of this step; none: all of them may go
        SELECT o.id FROM old o CROSS JOIN LATERAL (
            SELECT FROM task_instance t WHERE t.workflow_instance_id = o.id OFFSET 0) AS t
        ORDER BY o.id OFFSET :attempts_max - 1 LIMIT 1
    ), picked AS MATERIALIZED (
        SELECT o.id, o.ended_at FROM old o
        WHERE o.id <= coalesce((SELECT id FROM enough), (SELECT last FROM walked))
    )
    SELECT ARRAY(SELECT id FROM picked ORDER BY id), ARRAY(SELECT ended_at::text FROM picked ORDER BY id),
           coalesce((SELECT id FROM enough), w.last), w.is_over AND NOT EXISTS (SELECT FROM enough)
    FROM walked w
""")
async def find(
    connection: AsyncConnection,
    after: int,
    kept_days: int,
    named: Collection[WorkflowCode],
    waited: Collection[WorkflowCode],
    attempts_max: int,
) -> OldRuns:
    """Read the next runs by id, and find the first of those that may go.

    Args:
        after: the id after which to begin.
        kept_days: of projects that say nothing; 0 = for ever.
        named: workflows that DEPENDENT tasks name: their runs stay as far as a cycle reaches back.
        waited: those for which one waits now: their runs stay.
        attempts_max: with how many attempts; a single run may have more.
    """


async def delete(connection: FencedTransaction, old: OldRuns, rows_max: int = ROWS_MAX) -> Deleted:
    """Delete these runs with their attempts, events, and commands, except those that were continued meanwhile.

    Of attempts up to `rows_max`: what is left of them is recorded in `deleted_run`. If it fails, nothing was written.
    """
    if not old.ids:
        return Deleted(0, 0, 0.0)
    began_s = time.monotonic()
    step = (await connection.execute(ID_STEP)).scalar_one()
    values = {"ids": list(old.ids), "ended_at": list(old.ended_at), "id_step": step, "rows_max": rows_max}
    return await _deleted(connection, _DELETE, values, began_s)


@statement("SELECT min(id) FROM deleted_run WHERE id > :after")
async def left_over(connection: AsyncConnection, after: int) -> WorkflowInstanceId | None:
    """The first run, after this id, that was deleted before all of its attempts."""


async def delete_left(connection: FencedTransaction, run: WorkflowInstanceId, rows_max: int = ROWS_MAX) -> Deleted:
    """Delete up to so many attempts of a run that is deleted. If it fails, nothing was written."""
    return await _deleted(connection, _DELETE_LEFT, {"run": run, "rows_max": rows_max}, time.monotonic())


async def _deleted(connection: FencedTransaction, statement: Sql, values: Mapping[str, Any], began_s: float) -> Deleted:
    """In a savepoint: the transaction goes on after rows that are locked, or cannot be deleted in time."""
    try:
        with translating():
            async with connection.savepoint():
                runs, attempts = (await connection.execute(statement, values)).one()
    except (BadData, Unavailable) as error:
        return Deleted(0, 0, time.monotonic() - began_s, str(error))
    return Deleted(runs, attempts, time.monotonic() - began_s)


async def overdue(connection: AsyncConnection, kept_days: int, read_max: int) -> tuple[int, float]:
    """How many runs (children not counted) are past their time, and by how many days at most: of the first `read_max`
    by id among which there are any. It reads up to `OVERDUE_READS` times as many.

    Those that stay for another reason are counted too (docs/guides/retention.md).
    """
    after = 0
    for _ in range(OVERDUE_READS):
        values = {"kept_days": kept_days, "after": after, "read_max": read_max}
        count, days, last, is_over = (await connection.execute(_OVERDUE, values)).one()
        if count or is_over:
            return count, days
        after = last
    return 0, 0.0
