"""`alert_condition`: what is wrong now and lasts. It is reported once when it has lasted, and once when it is over.

Level-triggered: each check says what there is, and the rows say since when.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from dao.postgres.database import FencedTransaction
from dao.postgres.pool import AsyncConnection
from dao.postgres.sql import Sql
from model.alerts.alerts import AlertKind


@dataclass(frozen=True, slots=True)
class Lasting:
    """Something that lasts, or is over. `mark` is a text that names since when it is or was so."""

    name: str
    mark: str
    facts: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Standing:
    """Work that waits although nothing of it begins: how much, and for how long the oldest has waited.

    `name` is a worker group or a resource pool.
    """

    name: str
    waiting: int
    oldest_s: float


_SEEN = Sql("""
    INSERT INTO alert_condition (kind, name, facts)
    SELECT :kind, n.name, n.facts::jsonb FROM unnest(CAST(:names AS text[]), CAST(:facts AS text[])) AS n (name, facts)
    ORDER BY n.name
    ON CONFLICT (kind, name) DO UPDATE SET facts = excluded.facts
""")
_OVER = Sql("""
    DELETE FROM alert_condition WHERE kind = :kind AND name <> ALL(CAST(:names AS text[]))
    RETURNING name, extract(epoch FROM since)::text, facts, raised_at IS NOT NULL
""")
_LASTED = Sql("""
    UPDATE alert_condition SET raised_at = clock_timestamp()
    WHERE kind = :kind AND raised_at IS NULL AND since <= clock_timestamp() - CAST(:lasts AS interval)
    RETURNING name, extract(epoch FROM since)::text, facts
""")
# Two subqueries for the queues, each with a partial index: a single one for both would read all tasks in the history.
# Of those that need as many of a pool, the attempt with the smallest id stands for the oldest, so that one is read and
# not the whole line. A pool that has as many to give is not what it waits for: if all its pools have, it waits in the
# queue of its worker group. Nor does a pool stand of which resources were got or given back lately: since when somebody
# had what was given back is no longer known. A check is good for `every_s`, at least 5 s and at most a week: no
# interval takes whatever number somebody wrote by hand.
_STANDING = Sql("""
    WITH kind AS MATERIALIZED (
        SELECT worker_group, needs, pool_name, needed, count(*) AS waiting, min(task_instance_id) AS first
        FROM pool_line GROUP BY worker_group, needs, pool_name, needed
    ), line AS (
        SELECT pool_name, needed, sum(waiting) AS waiting, min(first) AS first FROM kind GROUP BY pool_name, needed
    ), pool AS MATERIALIZED (
        SELECT l.name, l.waiting, r.free - r.leaving AS free, r.checked - r.leaving AS checked,
               coalesce(r.moved_at, '-infinity') AS moved_at
        FROM (SELECT pool_name AS name, sum(waiting)::integer AS waiting FROM line GROUP BY pool_name) AS l
        CROSS JOIN LATERAL (
            SELECT count(*) FILTER (
                       WHERE r.task_instance_id IS NULL AND r.set_aside_at IS NULL AND r.checking_by IS NULL
                         AND NOT r.removed
                         AND (p.validity_check IS NULL
                              OR r.checked_at > clock_timestamp() - greatest(
                                  make_interval(secs => least(greatest(
                                      (p.validity_check ->> 'every_s')::numeric, 5), 604800)::float8),
                                  CAST(:stands AS interval)))) AS free,
                   count(*) FILTER (
                       WHERE r.task_instance_id IS NULL AND r.set_aside_at IS NULL AND r.checking_by IS NULL
                         AND NOT r.removed
                         AND (p.validity_check IS NULL
                              OR r.checked_at > clock_timestamp() - make_interval(secs => least(greatest(
                                  (p.validity_check ->> 'every_s')::numeric, 5), 604800)::float8))) AS checked,
                   count(*) FILTER (WHERE p.counted IS NOT NULL AND r.removed AND r.task_instance_id IS NOT NULL)
                       AS leaving,
                   max(greatest(r.taken_at, r.free_since)) AS moved_at
            FROM resource_pool p JOIN pool_resource r ON r.pool_code = p.code     -- index: pool_resource_name
            WHERE p.name = l.name) AS r
    ), queue AS (
        SELECT worker_group, count(*) AS waiting,
               min(greatest(queued_at, due_at)) FILTER (WHERE isfinite(greatest(queued_at, due_at))) AS queued_at
        FROM task_instance WHERE state = 'QUEUED' AND is_plain             -- index: task_instance_queue
        GROUP BY worker_group
        UNION ALL
        SELECT k.worker_group, k.waiting, CASE WHEN isfinite(t.queued_at) THEN t.queued_at END
        FROM (SELECT k.worker_group, min(k.waiting) AS waiting, min(k.first) AS first
              FROM kind k JOIN pool p ON p.name = k.pool_name
              GROUP BY k.worker_group, k.needs HAVING bool_and(k.needed <= p.checked)) AS k
        JOIN task_instance t ON t.id = k.first
    )
    SELECT 'QUEUE_STANDS' AS kind, q.worker_group AS name, q.waiting, q.oldest_s
    FROM (SELECT worker_group, sum(waiting)::integer AS waiting,
                 extract(epoch FROM clock_timestamp() - min(queued_at))::float8 AS oldest_s
          FROM queue GROUP BY worker_group) AS q
    LEFT JOIN (SELECT worker_group, max(started_at) AS last_at
               FROM task_instance WHERE state IN ('DISPATCH', 'RUNNING_EXECUTION')   -- index: task_instance_running
               GROUP BY worker_group) AS r ON r.worker_group = q.worker_group
    WHERE q.oldest_s > extract(epoch FROM CAST(:stands AS interval))
      AND coalesce(r.last_at, '-infinity') < clock_timestamp() - CAST(:stands AS interval)
    UNION ALL
    SELECT 'POOL_STANDS', p.name, p.waiting, extract(epoch FROM clock_timestamp() - min(t.queued_at))::float8
    FROM pool p JOIN line l ON l.pool_name = p.name AND l.needed > p.free JOIN task_instance t ON t.id = l.first
    WHERE isfinite(t.queued_at) AND t.queued_at < clock_timestamp() - CAST(:stands AS interval)
      AND p.moved_at < clock_timestamp() - CAST(:stands AS interval)
    GROUP BY p.name, p.waiting
    UNION ALL
    SELECT 'RECORDED', '', 0, 0 WHERE EXISTS (SELECT FROM alert_condition)
    ORDER BY 1, 2
""")


@dataclass(frozen=True, slots=True)
class AllStanding:
    """What stands now: worker groups whose queues do, and pools; whether anything was recorded before."""

    queues: Sequence[Standing]
    pools: Sequence[Standing]
    any_recorded: bool


async def read_standing(connection: AsyncConnection, stands: timedelta) -> AllStanding:
    """Worker groups and pools for which a task has waited for longer than that, and nothing has begun for as long."""
    rows = (await connection.execute(_STANDING, {"stands": stands})).all()
    return AllStanding(
        [Standing(*row[1:]) for row in rows if row.kind == AlertKind.QUEUE_STANDS],
        [Standing(*row[1:]) for row in rows if row.kind == AlertKind.POOL_STANDS],
        any(row.kind == "RECORDED" for row in rows),
    )


async def update(
    connection: FencedTransaction, kind: AlertKind, there: Mapping[str, Mapping[str, Any]], lasts: timedelta
) -> tuple[list[Lasting], list[Lasting]]:
    """Record what of a kind there is now, by name with its facts.

    Returns what has lasted for `lasts` and was not reported before, and what was reported and is over.
    """
    names = sorted(there)
    values = {"kind": kind.value, "names": names}
    over = (await connection.execute(_OVER, values)).all()
    if names:
        await connection.execute(_SEEN, {**values, "facts": [json.dumps(dict(there[name])) for name in names]})
    lasted = (await connection.execute(_LASTED, {"kind": kind.value, "lasts": lasts})).all()
    return (
        [Lasting(*row) for row in lasted],
        [Lasting(name, mark, facts) for name, mark, facts, was_raised in over if was_raised],
    )
