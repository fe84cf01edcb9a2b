"""Finds unfinished runs that wait for nothing: for the watcher in a master, and for `shoal doctor`.

The transaction that handles the end of an attempt also writes its consequences. So in every snapshot a driven run has
something under way: an attempt that is queued, runs or waits for a time, a child that has not ended, a command that
will create one, or an event that its owner will read. A run without any of these is stuck: an event was lost, or rows
were changed by hand. The only writes here end waits that have no due time; a stuck run is restored from its rows by its
owner (`master/watcher.py`).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import timedelta

from dao.postgres.database import FencedTransaction
from dao.postgres.pool import AsyncConnection
from dao.postgres.sql import Sql
from dao.postgres.statements import statement, unless_empty
from model.ids import Epoch, TaskCode, WorkflowInstanceId
from model.runs.states import WorkflowState


@dataclass(frozen=True, slots=True)
class Stuck:
    """A run that waits for nothing: `missing` is a sentence without its full stop, `idle_s` the seconds by the
    database's clock since anything of it last changed."""

    id: WorkflowInstanceId
    state: WorkflowState
    owner: Epoch
    missing: str
    idle_s: float


@dataclass(frozen=True, slots=True)
class Walked:
    """A part of a master's unfinished runs, by id: all of them, and those that are stuck."""

    ids: Sequence[WorkflowInstanceId]
    stuck: Sequence[Stuck]


@dataclass(frozen=True, slots=True)
class UnderWay:
    """An attempt that is under way according to its master's memory."""

    instance: WorkflowInstanceId
    code: TaskCode
    attempt: int


# As the statement of `_walk` says it.
NOTHING_UNDER_WAY = "nothing of it is queued, runs or waits for a time, and no end is on its way to its master"
NO_CHILD = "a task of it stands for other runs, and none of them runs, rests or is asked for"
NO_TIME = "a task of it waits for a time, and has none"
HALT_UNREPORTED = "a pause or stop was asked for, and its master was never notified"


def _walk(selected: str) -> Sql:
    """The statement for the unfinished runs that `selected` reads: each, and what is missing if it is stuck.

    In steps, each of which checks only the rows left by the previous one: most runs have an attempt under way, and the
    events, which have no index by run, are read once, if at all.

    Subqueries with LIMIT 1, evaluated for each run alone: a join could start with all tasks in the history. A paused
    child is a valid reason to wait unless its parent is to halt: it continues when somebody resumes it.
    """
    return Sql(f"""
        WITH checked AS MATERIALIZED ({selected}
        ), idle AS MATERIALIZED (
            SELECT l.*,
                   CASE WHEN l.requested_state <> l.state AND l.state <> 'READY_STOP'
                            THEN 'a pause or stop was asked for, and its master was never notified'
                        WHEN (
                            SELECT 1 FROM task_instance t                       -- index: task_instance_attempt
                            WHERE t.workflow_instance_id = l.id AND t.ended_at IS NULL AND (
                                t.state IN ('QUEUED', 'DISPATCH')
                                OR (t.state = 'DELAY_EXECUTION' AND t.due_at IS NOT NULL)
                                OR (t.state = 'RUNNING_EXECUTION' AND (
                                    t.worker_id IS NOT NULL OR t.task_type IN ('DEPENDENT', 'APPROVAL')
                                    OR (SELECT 1 FROM workflow_instance c       -- index: workflow_instance_child
                                        WHERE c.parent_instance_id = t.workflow_instance_id
                                          AND c.parent_task_code = t.task_code AND c.parent_attempt = t.attempt
                                          AND (c.ended_at IS NULL
                                               OR (c.state = 'PAUSE' AND l.state = 'RUNNING_EXECUTION'
                                                   AND NOT t.kill_requested)
                                               OR (SELECT 1 FROM command r      -- index: command_resume
                                                   WHERE r.workflow_instance_id = c.id
                                                     AND r.type IN ('RECOVER_SUSPENDED_PROCESS',
                                                                    'START_FAILURE_TASK_PROCESS')
                                                   LIMIT 1) IS NOT NULL)
                                        LIMIT 1) IS NOT NULL
                                    OR (SELECT 1 FROM command s                 -- index: command_child
                                        WHERE s.parent IS NOT NULL
                                          AND left(split_part(s.parent, '/', 1), 20) = t.workflow_instance_id::text
                                          AND s.parent LIKE concat_ws('/', t.workflow_instance_id, t.task_code,
                                                                      t.attempt, '%')
                                        LIMIT 1) IS NOT NULL))
                            ) LIMIT 1) IS NULL
                       THEN 'nothing of it is queued, runs or waits for a time, and no end is on its way to its master'
                   END AS missing
            FROM checked l
            WHERE l.state IN ('RUNNING_EXECUTION', 'READY_PAUSE', 'READY_STOP')
        ), unreported AS MATERIALIZED (
            SELECT * FROM idle
            WHERE missing IS NOT NULL
              AND (SELECT 1 FROM task_event e WHERE e.workflow_instance_id = idle.id LIMIT 1) IS NULL
        ), stuck AS MATERIALIZED (
            SELECT u.id,
                   CASE WHEN u.missing = 'a pause or stop was asked for, and its master was never notified'
                             OR open_state IS NULL THEN u.missing
                        WHEN open_state = 'DELAY_EXECUTION' THEN 'a task of it waits for a time, and has none'
                        ELSE 'a task of it stands for other runs, and none of them runs, rests or is asked for'
                   END AS missing,
                   -- within some years, since an infinite time has no distance
                   extract(epoch FROM clock_timestamp() - least(greatest(u.started_at, of_tasks, of_children,
                                                                         now() - interval '9 y'), now()))::float8
                       AS idle_s
            FROM unreported u
            CROSS JOIN LATERAL (
                SELECT max(greatest(t.queued_at, t.started_at, t.ended_at)) AS of_tasks,
                       min(t.state) FILTER (WHERE t.ended_at IS NULL
                                              AND t.state IN ('DELAY_EXECUTION', 'RUNNING_EXECUTION')) AS open_state
                FROM task_instance t WHERE t.workflow_instance_id = u.id
            ) AS tasks
            CROSS JOIN LATERAL (
                SELECT max(c.ended_at) AS of_children FROM workflow_instance c WHERE c.parent_instance_id = u.id
            ) AS below
        )
        SELECT l.id, l.state, l.master_id, s.missing, s.idle_s FROM checked l
        LEFT JOIN stuck s ON s.id = l.id AND s.idle_s >= :older_than_s
        ORDER BY l.id
    """)


_WALK_MINE = _walk("""
    SELECT id, state, requested_state, master_id, started_at FROM workflow_instance
    WHERE (master_id, id) > (:master, :after) AND master_id <= :master          -- index: workflow_instance_unfinished
      AND ended_at IS NULL
    ORDER BY master_id, id LIMIT :limit
""")
_WALK_ALL = _walk("""
    SELECT i.id, i.state, i.requested_state, i.master_id, i.started_at
    FROM node n JOIN workflow_instance i ON i.master_id = n.id AND i.ended_at IS NULL
    WHERE n.kind = 'MASTER' AND n.state IN ('ALIVE', 'LEAVING')
""")


async def walk(
    connection: AsyncConnection, master: Epoch, after: WorkflowInstanceId, limit: int, older_than: timedelta
) -> Walked:
    """The next `limit` unfinished runs of a master, by id, and those of them that are stuck for longer than that."""
    values = {"master": master, "after": after, "limit": limit, "older_than_s": older_than.total_seconds()}
    rows = (await connection.execute(_WALK_MINE, values)).all()
    return Walked([WorkflowInstanceId(row.id) for row in rows], [_stuck(*row) for row in rows if row.missing])


async def stuck(connection: AsyncConnection, older_than: timedelta) -> list[Stuck]:
    """Every run of a living master that has been stuck for longer than that, by id."""
    rows = (await connection.execute(_WALK_ALL, {"older_than_s": older_than.total_seconds()})).all()
    return [_stuck(*row) for row in rows if row.missing]


# Attempts that have ended according to their rows: the end was lost if there is no event for it.
@unless_empty
@statement("""
    WITH over AS MATERIALIZED (
        SELECT b.instance_id, b.code, b.attempt
        FROM unnest(CAST(:believed.instance AS bigint[]), CAST(:believed.code AS bigint[]),
                    CAST(:believed.attempt AS integer[]))
             AS b (instance_id, code, attempt)
        WHERE (SELECT t.ended_at FROM task_instance t                           -- index: task_instance_attempt
               WHERE t.workflow_instance_id = b.instance_id AND t.task_code = b.code AND t.attempt = b.attempt)
              < clock_timestamp() - CAST(:older_than AS interval)
    )
    SELECT instance_id, code, attempt FROM over
    WHERE (SELECT 1 FROM task_event e WHERE e.workflow_instance_id = over.instance_id LIMIT 1) IS NULL
""")
async def unheard(connection: AsyncConnection, believed: Collection[UnderWay], older_than: timedelta) -> list[UnderWay]:
    """Those of these attempts that ended longer ago than that, and whose runs have no event on its way.

    The caller must check its memory again: the end may have arrived meanwhile. Of none it asks nothing.
    """


@statement("""
    UPDATE task_instance t SET due_at = clock_timestamp()
    FROM workflow_instance i
    WHERE t.workflow_instance_id = ANY(CAST(:instances AS bigint[])) AND t.state = 'DELAY_EXECUTION'
      AND t.due_at IS NULL AND i.id = t.workflow_instance_id AND i.master_id = :master
""")
async def end_timeless_waits(
    connection: FencedTransaction, instances: Collection[WorkflowInstanceId], master: Epoch
) -> int:
    """Make due the attempts of own runs that wait for a time but have none. Returns how many."""


def _stuck(id_: int, state: str, owner: int, missing: str, idle_s: float) -> Stuck:
    return Stuck(WorkflowInstanceId(id_), WorkflowState(state), Epoch(owner), missing, idle_s)
