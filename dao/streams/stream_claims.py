"""Streams as a worker claims them: in a transaction of their own, and only when some wait.

How many it takes is decided in `model/streams/spread.py` from what is read here. Streams that need resources are
claimed with their leases (`dao/pools/pool_claims.py`): here they only count for the workers that run them.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta

from dao.postgres.database import FencedTransaction
from dao.postgres.notify import changed
from dao.postgres.sql import Sql
from dao.tasks.task_claims import ClaimedTask
from model.changes import Changes
from model.ids import Epoch

OVERDUE = timedelta(seconds=10)
"""A stream that has waited for so long is taken by any worker with a place, even if it is another's share."""

LATELY = timedelta(minutes=10)
"""For so long a failure that comes soon says something about its worker."""
PROVEN = timedelta(minutes=1)
"""Who has run for so long has nothing against its worker, however it ends."""


@dataclass(frozen=True, slots=True)
class GroupStreams:
    """The streams of a worker group: how many wait that need only a place, whether one of them has waited for too long,
    how many each worker runs, those with resources too, and the workers on which they fail."""

    waiting: int = 0
    is_overdue: bool = False
    running: Mapping[Epoch, int] = field(default_factory=dict)
    troubled: Collection[Epoch] = ()


_COUNT = Sql("""
    SELECT worker_group, CASE WHEN state <> 'QUEUED' THEN worker_id END AS worker, count(*) AS streams,
           coalesce(bool_or(state = 'QUEUED' AND queued_at < clock_timestamp() - CAST(:overdue AS interval)), false)
               AS is_overdue
    FROM task_instance
    WHERE worker_group = ANY(CAST(:groups AS text[]))                               -- index: task_instance_stream
      AND stream IS NOT NULL AND state IN ('QUEUED', 'DISPATCH', 'RUNNING_EXECUTION')
      AND (state <> 'QUEUED' OR resources IS NULL)
    GROUP BY 1, 2
""")
# Of streams of which the last attempts failed soon: where that was. OFFSET: a plan must not walk all that ever failed.
_TROUBLED = Sql("""
    WITH stream AS MATERIALIZED (
        SELECT id, worker_group, workflow_instance_id, task_code, attempt, retries, state, worker_id, started_at
        FROM task_instance                                                          -- index: task_instance_stream
        WHERE stream IS NOT NULL AND state IN ('QUEUED', 'DISPATCH', 'RUNNING_EXECUTION')
          AND (CAST(:groups AS text[]) IS NULL OR worker_group = ANY(CAST(:groups AS text[])))
    ), early AS (
        SELECT s.worker_group, former.worker_id, former.attempt = s.attempt - 1 AS is_last,
               count(*) OVER (PARTITION BY s.id, former.worker_id) AS times
        FROM stream s CROSS JOIN LATERAL (
            SELECT p.attempt, p.state, p.worker_id, p.started_at, p.ended_at
            FROM task_instance p                                                    -- index: task_instance_attempt
            WHERE p.workflow_instance_id = s.workflow_instance_id AND p.task_code = s.task_code
              AND p.attempt BETWEEN s.attempt - 3 AND s.attempt - 1 OFFSET 0) AS former
        WHERE s.retries > 0 AND former.state = 'FAILURE' AND former.worker_id IS NOT NULL
          AND former.ended_at BETWEEN clock_timestamp() - CAST(:lately AS interval) AND clock_timestamp()
          AND CASE WHEN isfinite(former.started_at) AND isfinite(former.ended_at)
                   THEN former.ended_at - former.started_at < CAST(:proven AS interval)
                   ELSE former.started_at IS NULL END
    )
    SELECT e.worker_group, e.worker_id FROM early e
    WHERE NOT EXISTS (
        SELECT FROM stream s
        WHERE s.worker_group = e.worker_group AND s.worker_id = e.worker_id AND s.state = 'RUNNING_EXECUTION'
          AND s.started_at < clock_timestamp() - CAST(:proven AS interval))
    GROUP BY e.worker_group, e.worker_id HAVING count(*) FILTER (WHERE e.is_last) >= 2 OR max(e.times) >= 3
""")
# It returns what a `ClaimedTask` has, as the claim of dao/tasks/task_claims.py does.
_CLAIM = Sql("""
    WITH picked AS MATERIALIZED (
        SELECT best.id
        FROM unnest(CAST(:groups AS text[]), CAST(:limits AS integer[])) AS wanted (worker_group, most)
        CROSS JOIN LATERAL (
            SELECT id FROM task_instance t
            WHERE state = 'QUEUED' AND worker_group = wanted.worker_group           -- index: task_instance_stream
              AND stream IS NOT NULL AND state IN ('QUEUED', 'DISPATCH', 'RUNNING_EXECUTION') AND resources IS NULL
              AND (SELECT i.id FROM workflow_instance i WHERE i.id = t.workflow_instance_id) IS NOT NULL
            ORDER BY workflow_priority, workflow_instance_id, task_priority, id
            LIMIT wanted.most
            FOR UPDATE SKIP LOCKED
        ) AS best
        WHERE NOT EXISTS (
            SELECT FROM node n JOIN drain d ON d.kind = n.kind AND d.name = coalesce(nullif(n.name, ''), n.address)
            WHERE n.id = :worker)
    )
    UPDATE task_instance t
    SET state = CASE WHEN t.write_ahead THEN 'RUNNING_EXECUTION' ELSE 'DISPATCH' END, worker_id = :worker,
        started_at = CASE WHEN t.write_ahead THEN clock_timestamp() END, ready_at = NULL, handover = NULL
    FROM picked, workflow_instance i
    WHERE t.id = picked.id AND i.id = t.workflow_instance_id
    RETURNING t.id, t.workflow_instance_id, i.workflow_code, t.task_code, t.attempt, t.task_name, t.task_type,
              t.state, t.params, t.parameter_values, to_char(t.queued_at, 'YYYYMMDD'),
              least(greatest(i.schedule_time, '0100-01-01 00:00Z'), '9900-01-01 00:00Z'), i.time_zone,
              i.interval_start, i.interval_end,
              CASE WHEN t.timeout_s < 1e9 THEN t.timeout_s END, t.timeout_strategy, t.dry_run, t.tenant,
              t.parameter_types, t.environment,
              CASE WHEN isfinite(t.queued_at) THEN extract(epoch FROM clock_timestamp() - t.queued_at)::float8 END,
              i.traceparent,
              CASE WHEN isfinite(i.started_at) THEN (extract(epoch FROM i.started_at) * 1000000)::bigint END,
              t.workflow_priority, t.stream::text
""")


async def count(connection: FencedTransaction, groups: Sequence[str]) -> dict[str, GroupStreams]:
    """The streams of each of these groups that wait for a place or run."""
    rows = (await connection.execute(_COUNT, {"groups": list(groups), "overdue": OVERDUE})).all()
    fail = await troubled(connection, groups)
    found: dict[str, GroupStreams] = {}
    for group in groups:
        of_group = [row for row in rows if row.worker_group == group]
        found[group] = GroupStreams(
            sum(row.streams for row in of_group if row.worker is None),
            any(row.is_overdue for row in of_group),
            {Epoch(row.worker): row.streams for row in of_group if row.worker is not None},
            fail.get(group, ()),
        )
    return found


async def troubled(connection: FencedTransaction, groups: Sequence[str] | None = None) -> dict[str, frozenset[Epoch]]:
    """By group (of these, or of all) the workers on which its streams fail soon after they have begun: two of them
    lately, or one three times in a row, and no stream of the group runs there for longer."""
    given = {"groups": None if groups is None else list(groups), "lately": LATELY, "proven": PROVEN}
    rows = (await connection.execute(_TROUBLED, given)).all()
    return {
        group: frozenset(Epoch(row.worker_id) for row in rows if row.worker_group == group)
        for group in {row.worker_group for row in rows}
    }


async def claim(connection: FencedTransaction, limits: Mapping[str, int], worker: Epoch) -> list[ClaimedTask]:
    """Take up to so many queued streams of each group that need only a place, most urgent first; none for a worker that
    is drained."""
    values = {"groups": list(limits), "limits": list(limits.values()), "worker": worker}
    claimed = [ClaimedTask(*row) for row in await connection.execute(_CLAIM, values)]
    await changed(connection, Changes(tasks={task.workflow_instance_id for task in claimed}))
    return claimed
