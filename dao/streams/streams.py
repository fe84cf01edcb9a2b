"""The streams that run, as a master sees them: which are to move, which are to be restarted.

A stream is ended by its worker: a master only writes why (`handover`), and never twice.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from dao.postgres.database import FencedTransaction
from dao.postgres.notify import KILL, changed, notify
from dao.postgres.pool import AsyncConnection
from dao.postgres.rows import Row
from dao.postgres.sql import Sql
from dao.postgres.statements import made_by, statement
from dao.streams.stream_claims import OVERDUE  # noqa: F401 - in statements
from model.changes import Changes
from model.ids import Epoch, TaskCode, TaskInstanceId, WorkflowInstanceId
from model.runs.states import TaskState
from model.streams.rolling import Restart

WITHIN_S = 60.0
"""How long a restart waits for a stream whose definition says nothing about it."""


@dataclass(frozen=True, slots=True)
class LivingStream:
    """An attempt of a stream that waits (`worker` is None) or runs. `moves`: its worker is to end it. `begins`: it has
    begun lately and is not ready yet. `restarts`: one of its run is being restarted. `pools` are those of which it
    needs resources; `waits_for_pool`: it waits, and they are not there, or it has done so for longer than a move
    takes."""

    id: TaskInstanceId
    worker_group: str
    worker: Epoch | None
    moves: bool
    begins: bool
    restarts: bool = False
    pools: tuple[str, ...] = ()
    waits_for_pool: bool = False

    @property
    def is_on_its_way(self) -> bool:
        """Whether it will run, or be ready, in a moment."""
        return self.moves or self.begins or (self.worker is None and not self.waits_for_pool)


class FirstInLine(NamedTuple):
    """Who may get what becomes free in a pool: streams of a worker group that wait for it, or other tasks of it."""

    pool: str
    worker_group: str
    is_stream: bool


_HAND_OVER = Sql("""
    UPDATE task_instance t SET handover = n.why
    FROM unnest(CAST(:ids AS bigint[]), CAST(:whys AS text[])) AS n (id, why)
    WHERE t.id = ANY(ARRAY(SELECT id FROM task_instance WHERE id = ANY(CAST(:ids AS bigint[])) FOR UPDATE SKIP LOCKED))
      AND t.id = n.id AND coalesce(t.state IN ('DISPATCH', 'RUNNING_EXECUTION') AND t.stream IS NOT NULL
                                   AND t.handover IS NULL AND NOT t.kill_requested, false)
    RETURNING t.id, t.workflow_instance_id
""")


@dataclass(frozen=True, slots=True)
class AskedRestart:
    """A restart that was asked for, by whom, and the row of the stream's last attempt, if it has one."""

    restart: Restart
    asked_by: str
    id: TaskInstanceId | None


# Two masters may believe that it is their turn. The lock ends with the transaction, and a frozen one with its session.
@statement("SELECT pg_try_advisory_xact_lock(hashtextextended('shoal streams ' || current_schema(), 0))")
async def try_lock(connection: FencedTransaction) -> bool:
    """Whether this transaction alone decides about streams until it ends."""


@statement("""
    SELECT id, worker_group, CASE WHEN state <> 'QUEUED' THEN worker_id END AS worker,
           handover IS NOT NULL OR kill_requested AS moves,
           state <> 'QUEUED' AND stream ? 'readiness' AND ready_at IS NULL
           AND coalesce(started_at BETWEEN clock_timestamp() - interval '1 minute' AND clock_timestamp(), true)
               AS begins,
           EXISTS (SELECT FROM stream_restart r                                     -- index: stream_restart_pkey
                   WHERE r.workflow_instance_id = task_instance.workflow_instance_id
                     AND r.begun_at BETWEEN clock_timestamp() - interval '10 minutes' AND clock_timestamp()
                  ) AS restarts,
           ARRAY(SELECT jsonb_object_keys(resources)) AS pools,
           state = 'QUEUED' AND resources IS NOT NULL
           AND (queued_at < clock_timestamp() - CAST(:OVERDUE AS interval)
                OR EXISTS (SELECT FROM jsonb_each_text(resources) AS need (name, number)
                           WHERE need.number::integer > (
                               SELECT count(*) FROM (
                                   SELECT FROM resource_pool p JOIN pool_resource r ON r.pool_code = p.code
                                   WHERE p.name = need.name AND r.task_instance_id IS NULL
                                     AND r.set_aside_at IS NULL AND r.checking_by IS NULL
                                     AND NOT r.removed                              -- index: pool_resource_free
                                   LIMIT need.number::integer) AS free))) AS waits_for_pool
    FROM task_instance
    WHERE stream IS NOT NULL AND state IN ('QUEUED', 'DISPATCH', 'RUNNING_EXECUTION')   -- index: task_instance_stream
    ORDER BY id DESC
""")
async def living(connection: AsyncConnection) -> list[LivingStream]:
    """All streams that wait for a worker or run, the youngest first."""


# What a pool could not give even if nobody had any waits for nobody's resources. Of each kind one task is found behind
# its streams, and the streams are found by themselves, which are few: however many wait, and for whatever they do.
# `line` is as in `_ROOMS` (`dao/pools/pool_claims.py`).
@statement("""
    WITH RECURSIVE line (name) AS (
        (SELECT l.pool_name FROM pool_line l ORDER BY l.pool_name, l.workflow_priority LIMIT 1)
        UNION ALL
        SELECT (SELECT l.pool_name FROM pool_line l WHERE l.pool_name > line.name  -- index: pool_line_pkey
                ORDER BY l.pool_name, l.workflow_priority LIMIT 1)
        FROM line WHERE line.name IS NOT NULL
    ), stream AS MATERIALIZED (
        SELECT worker_group, resources AS needs FROM task_instance                  -- index: task_instance_stream
        WHERE stream IS NOT NULL AND state IN ('QUEUED', 'DISPATCH', 'RUNNING_EXECUTION')
          AND state NOT IN ('DISPATCH', 'RUNNING_EXECUTION') AND resources IS NOT NULL
    ), waiting AS (
        SELECT k.pool_name, k.worker_group, k.needs, false AS is_stream
        FROM line CROSS JOIN LATERAL kinds_in_line(line.name) AS k
        WHERE line.name IS NOT NULL AND EXISTS (
            SELECT FROM (
                SELECT l.task_instance_id FROM pool_line l                         -- index: pool_line_kind
                WHERE (l.pool_name || '') = k.pool_name
                  AND ((l.worker_group || ''), jsonb_hash_extended(l.needs, 0)) >= (k.worker_group, k.hash)
                  AND ((l.worker_group || ''), jsonb_hash_extended(l.needs, 0)) <= (k.worker_group, k.hash)
                OFFSET 0) AS own
            CROSS JOIN LATERAL (SELECT FROM task_instance t WHERE t.id = own.task_instance_id AND t.state = 'QUEUED'
                                AND t.stream IS NULL OFFSET 0) AS queued)
        UNION
        SELECT jsonb_object_keys(s.needs), s.worker_group, s.needs, true FROM stream s
    )
    SELECT DISTINCT w.pool_name, w.worker_group, w.is_stream FROM waiting w
    WHERE jsonb_typeof(w.needs) = 'object' AND NOT EXISTS (
        SELECT FROM jsonb_each(CASE jsonb_typeof(w.needs) WHEN 'object' THEN w.needs END) AS need (name, given)
        -- Whatever somebody wrote by hand fails nothing: what is no number is more than any pool has.
        CROSS JOIN LATERAL (
            SELECT CASE jsonb_typeof(need.given) WHEN 'number' THEN least(greatest(need.given::numeric, 0), 1e9)
                   ELSE 1e9 END::bigint AS number) AS asked
        WHERE asked.number > (
            SELECT count(*) FROM (
                SELECT FROM resource_pool p JOIN pool_resource r ON r.pool_code = p.code
                WHERE p.name = need.name AND r.set_aside_at IS NULL AND NOT r.removed
                LIMIT asked.number) AS size))
""")
async def first_in_line(connection: AsyncConnection) -> set[FirstInLine]:
    """Who may get what becomes free in the pools."""


async def hand_over(connection: FencedTransaction, reasons: Mapping[TaskInstanceId, str]) -> set[TaskInstanceId]:
    """Ask the workers to end these streams, each with a reason, so that they go on elsewhere. Returns those that were
    running, and that nobody had asked to end."""
    values = {"ids": list(reasons), "whys": list(reasons.values())}
    rows = (await connection.execute(_HAND_OVER, values)).all()
    if rows:
        await changed(connection, Changes(tasks={row.workflow_instance_id for row in rows}))
        await notify(connection, KILL)
    return {TaskInstanceId(row.id) for row in rows}


@statement("""
    UPDATE task_instance t SET due_at = clock_timestamp()
    WHERE t.id = ANY(ARRAY(SELECT id FROM task_instance WHERE id = ANY(CAST(:ids AS bigint[])) FOR UPDATE SKIP LOCKED))
      AND coalesce(t.state = 'DELAY_EXECUTION' AND t.stream IS NOT NULL, false)
    RETURNING t.id
""")
async def start_now(connection: FencedTransaction, ids: Sequence[TaskInstanceId]) -> set[TaskInstanceId]:
    """End the pauses of these streams, but for those that somebody has locked. Returns which pauses have ended."""


def _restart(row: Row) -> AskedRestart:
    restart = Restart(
        WorkflowInstanceId(row.workflow_instance_id),
        TaskCode(row.task_code),
        row.goes_on,
        None if row.state is None else TaskState(row.state),
        row.attempt or 0,
        bool(row.is_ready),
        row.begun_s,
        row.ended_attempt,
        _seconds(row.within_minutes),
        row.another_moves,
        row.waits_for_pool,
        row.asked_s,
    )
    return AskedRestart(restart, row.asked_by, None if row.id is None else TaskInstanceId(row.id))


@made_by(_restart)
@statement("""
    WITH moving AS MATERIALIZED (
        SELECT workflow_instance_id AS run, task_code AS code FROM task_instance
        WHERE stream IS NOT NULL                                                    -- index: task_instance_stream
          AND state IN ('QUEUED', 'DISPATCH', 'RUNNING_EXECUTION')
          AND (handover IS NOT NULL
               OR state <> 'RUNNING_EXECUTION' AND queued_at > clock_timestamp()
                  - CASE WHEN resources IS NULL THEN interval '1 minute' ELSE CAST(:OVERDUE AS interval) END)
    )
    SELECT r.workflow_instance_id, r.task_code, r.asked_by, coalesce(i.ended_at IS NULL, false) AS goes_on, t.id,
           t.state, t.attempt, t.ready_at IS NOT NULL OR NOT t.stream ? 'readiness' AS is_ready,
           CASE WHEN isfinite(r.begun_at) THEN extract(epoch FROM clock_timestamp() - greatest(
                    r.begun_at, CASE WHEN t.attempt = r.ended_attempt + 1 AND isfinite(t.started_at)
                                     THEN t.started_at END))::float8
                WHEN r.begun_at IS NOT NULL THEN 1e9 END AS begun_s,
           coalesce(r.ended_attempt, 0) AS ended_attempt, t.stream #>> '{readiness,within}' AS within_minutes,
           EXISTS (SELECT FROM moving m
                   WHERE m.run = r.workflow_instance_id AND m.code <> r.task_code) AS another_moves,
           coalesce(t.state = 'QUEUED' AND t.resources IS NOT NULL
                    AND t.queued_at < clock_timestamp() - CAST(:OVERDUE AS interval), false) AS waits_for_pool,
           CASE WHEN isfinite(r.asked_at) THEN extract(epoch FROM clock_timestamp() - r.asked_at)::float8
                ELSE 1e9 END AS asked_s
    FROM stream_restart r
    LEFT JOIN workflow_instance i ON i.id = r.workflow_instance_id
    LEFT JOIN task_instance t ON t.workflow_instance_id = r.workflow_instance_id AND t.task_code = r.task_code
                             AND t.flag = 'YES' AND t.stream IS NOT NULL           -- index: task_instance_valid
    ORDER BY r.workflow_instance_id, r.task_code LIMIT 10000
""")
async def restarts(connection: AsyncConnection) -> list[AskedRestart]:
    """All restarts that were asked for and are not done."""


@statement("""
    UPDATE stream_restart SET begun_at = clock_timestamp(), ended_attempt = :ended_attempt
    WHERE workflow_instance_id = :restart.run AND task_code = :restart.code AND begun_at IS NULL
""")
async def begin_restart(connection: FencedTransaction, restart: Restart, ended_attempt: int) -> None:
    """Record that the turn of a restart has come, and that attempts after this one are new; 0: the last one is."""


# Not one that was asked for again meanwhile.
@statement("""
    DELETE FROM stream_restart r
    USING unnest(CAST(:done.run AS bigint[]), CAST(:done.code AS bigint[]), CAST(:done.begun_s AS double precision[]))
          AS n (run, code, begun_s)
    WHERE r.workflow_instance_id = n.run AND r.task_code = n.code AND (r.begun_at IS NULL) = (n.begun_s IS NULL)
""")
async def restarted(connection: FencedTransaction, done: Sequence[Restart]) -> None:
    """Delete what is done."""


# Of one whose turn has not come, it says that it need not wait for one that does not become ready
# (`model/streams/rolling.py`). A restart that is under way is enough, unless its new attempt has begun already: that
# one knows nothing of what has changed since. One that pauses has ended since, or the restart is about to end that
# pause.
@statement("""
    INSERT INTO stream_restart (workflow_instance_id, task_code, asked_by)
    SELECT :run, code, :asked_by FROM unnest(CAST(:codes AS bigint[])) AS code
    ON CONFLICT (workflow_instance_id, task_code) DO UPDATE
    SET asked_at = clock_timestamp(), asked_by = excluded.asked_by, begun_at = NULL, ended_attempt = NULL
    WHERE stream_restart.begun_at IS NULL
       OR EXISTS (SELECT FROM task_instance t                                      -- index: task_instance_valid
                  WHERE t.workflow_instance_id = stream_restart.workflow_instance_id
                    AND t.task_code = stream_restart.task_code AND t.flag = 'YES'
                    AND t.attempt > coalesce(stream_restart.ended_attempt, 0)
                    AND t.state IN ('DELAY_EXECUTION', 'DISPATCH', 'RUNNING_EXECUTION'))
""")
async def ask_restart(
    connection: AsyncConnection, run: WorkflowInstanceId, codes: Sequence[TaskCode], asked_by: str
) -> int:
    """Ask that these streams of a run be restarted; returns how many have their turn to come by that."""


@statement("SELECT worker_group FROM rebalance ORDER BY worker_group")
async def asked_rebalances(connection: AsyncConnection) -> list[str]:
    """The worker groups of which somebody asked that they be rebalanced."""


@statement("""
    INSERT INTO rebalance (worker_group, asked_by)
    SELECT worker_group, :asked_by FROM unnest(CAST(:groups AS text[])) AS worker_group
    ON CONFLICT (worker_group) DO NOTHING
""")
async def ask_rebalance(connection: AsyncConnection, groups: Sequence[str], asked_by: str) -> None:
    """Ask that the streams of these groups be spread evenly."""


@statement("DELETE FROM rebalance WHERE worker_group = ANY(CAST(:groups AS text[]))")
async def rebalanced(connection: FencedTransaction, groups: Sequence[str]) -> None:
    """Record that these groups are even."""


def _seconds(minutes: str | None) -> float:
    try:
        return WITHIN_S if minutes is None else float(json.loads(minutes)) * 60
    except (ValueError, TypeError):
        return WITHIN_S
