"""How it stands with the resource pools for which attempts wait. Reads only."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from dao.postgres.pool import AsyncConnection
from dao.postgres.sql import Sql
from dao.runs import usual_times
from model.ids import TaskCode, TaskInstanceId, WorkflowCode

HOLDERS_READ_MAX = 200
WORKFLOWS_READ_MAX = 5
"""Of so many workflows of those who hold resources the usual times are read."""


@dataclass(frozen=True, slots=True)
class PoolReading:
    """A pool for which an attempt waits: `size` is what it has, None if it does not exist, of which `taken` are held,
    `by_streams` of them by streams, `set_aside` can be given to nobody, held now or not, and `checked` are being
    checked; `set_aside_why` is why one of them is set aside. `leaving` places of a pool that is a number were taken
    from it and are still held. `place` is the attempt's in the line, 1 = next. `next_in_s` is in how many seconds one
    is probably free; None if that is not known. `kept_for`: what is free is kept for one before it that needs more,
    which is `kept_needs`; its run and name, or "a task" if it is of another project; None: for nobody."""

    name: str
    needed: int
    size: int | None
    taken: int = 0
    set_aside: int = 0
    checked: int = 0
    leaving: int = 0
    set_aside_why: str | None = None
    place: int = 1
    next_in_s: float | None = None
    by_streams: int = 0
    kept_for: str | None = None
    kept_needs: int = 0


# What is compared and sorted of `pool_line l` are the expressions that only the index pool_line_kind has, so that it is
# used whatever the statistics say.
_WAITING = Sql("""
    SELECT t.id, need.name, need.number::integer AS needed, p.code, kept.kept_for, kept.needed AS kept_needs,
           r.size, r.taken, r.by_streams, r.set_aside, r.checked, r.leaving, r.set_aside_why,
           (SELECT count(*) FROM pool_line l                                       -- its primary key
            WHERE l.pool_name = need.name
              AND (l.pool_name, l.workflow_priority, l.workflow_instance_id, l.task_priority, l.task_instance_id)
                  <= (need.name, t.workflow_priority, t.workflow_instance_id, t.task_priority, t.id)) AS place
    FROM task_instance t
    CROSS JOIN LATERAL jsonb_each_text(t.resources) AS need (name, number)
    LEFT JOIN resource_pool p ON p.name = need.name
    LEFT JOIN LATERAL (
        SELECT count(*) FILTER (WHERE NOT removed) AS size,
               count(*) FILTER (WHERE task_instance_id IS NOT NULL AND set_aside_at IS NULL AND NOT removed) AS taken,
               count(*) FILTER (WHERE (SELECT s.stream FROM task_instance s WHERE s.id = task_instance_id) IS NOT NULL
                                AND set_aside_at IS NULL AND NOT removed) AS by_streams,
               count(*) FILTER (WHERE set_aside_at IS NOT NULL AND NOT removed) AS set_aside,
               count(*) FILTER (WHERE checking_by IS NOT NULL AND set_aside_at IS NULL AND NOT removed) AS checked,
               count(*) FILTER (WHERE removed AND task_instance_id IS NOT NULL AND p.counted IS NOT NULL) AS leaving,
               min(set_aside_why) FILTER (WHERE NOT removed) AS set_aside_why
        FROM pool_resource WHERE pool_code = p.code) AS r ON true
    LEFT JOIN LATERAL (
        SELECT first.needed,
               CASE WHEN (SELECT d.project
                          FROM workflow_instance i JOIN workflow_definition d ON d.code = i.workflow_code
                          WHERE i.id = x.workflow_instance_id)
                       = (SELECT d.project
                          FROM workflow_instance i JOIN workflow_definition d ON d.code = i.workflow_code
                          WHERE i.id = t.workflow_instance_id)
                    THEN format('%s/%s', x.workflow_instance_id, x.task_name) ELSE 'a task' END AS kept_for
        FROM kinds_in_line(need.name) AS k CROSS JOIN LATERAL (
            SELECT l.* FROM pool_line l                                             -- index: pool_line_kind
            WHERE (l.pool_name || '') = k.pool_name
              AND ((l.worker_group || ''), jsonb_hash_extended(l.needs, 0)) >= (k.worker_group, k.hash)
              AND ((l.worker_group || ''), jsonb_hash_extended(l.needs, 0)) <= (k.worker_group, k.hash)
            ORDER BY (l.pool_name || ''), (l.worker_group || ''), jsonb_hash_extended(l.needs, 0),
                     l.workflow_priority, l.workflow_instance_id, l.task_priority, l.task_instance_id
            LIMIT 1) AS first
        JOIN task_instance x ON x.id = first.task_instance_id
        WHERE k.needed > r.size - r.taken - r.set_aside - r.checked - r.leaving AND k.needed <= r.size
          AND (first.workflow_priority, first.workflow_instance_id, first.task_priority, first.task_instance_id)
              < (t.workflow_priority, t.workflow_instance_id, t.task_priority, t.id)
        ORDER BY first.workflow_priority, first.workflow_instance_id, first.task_priority, first.task_instance_id
        LIMIT 1) AS kept ON true
    WHERE t.id = ANY(CAST(:ids AS bigint[])) AND t.resources IS NOT NULL
    ORDER BY t.id, need.name
""")
_HOLDERS = Sql("""
    SELECT p.name, i.workflow_code, t.task_code, extract(epoch FROM clock_timestamp() - r.taken_at)::float8 AS held_s
    FROM resource_pool p JOIN pool_resource r ON r.pool_code = p.code
    JOIN task_instance t ON t.id = r.task_instance_id JOIN workflow_instance i ON i.id = t.workflow_instance_id
    WHERE p.name = ANY(CAST(:pools AS text[])) AND isfinite(r.taken_at) AND t.stream IS NULL LIMIT :limit
""")


async def read(connection: AsyncConnection, ids: Sequence[TaskInstanceId]) -> dict[TaskInstanceId, list[PoolReading]]:
    """The pools for which each of these attempts waits; one that needs no resources is missing."""
    rows = (await connection.execute(_WAITING, {"ids": list(ids)})).all()
    full = {row.name for row in rows if row.code is not None and row.taken + row.leaving}
    next_in_s = await _next_in_s(connection, full) if full else {}
    found: dict[TaskInstanceId, list[PoolReading]] = defaultdict(list)
    for row in rows:
        exists = row.code is not None
        found[TaskInstanceId(row.id)].append(
            PoolReading(
                row.name,
                row.needed,
                row.size if exists else None,
                row.taken or 0,
                row.set_aside or 0,
                row.checked or 0,
                row.leaving or 0,
                row.set_aside_why,
                row.place,
                next_in_s.get(row.name),
                row.by_streams or 0,
                row.kept_for,
                row.kept_needs or 0,
            )
        )
    return dict(found)


async def _next_in_s(connection: AsyncConnection, pools: set[str]) -> dict[str, float]:
    """In how many seconds the first of those who hold resources of a pool has probably ended, by their usual times."""
    values = {"pools": sorted(pools), "limit": HOLDERS_READ_MAX}
    holders = (await connection.execute(_HOLDERS, values)).all()
    usual: dict[tuple[int, int], float] = {}
    for code in sorted({row.workflow_code for row in holders})[:WORKFLOWS_READ_MAX]:
        tasks = {TaskCode(row.task_code) for row in holders if row.workflow_code == code}
        times = await usual_times.of_tasks(connection, WorkflowCode(code), tasks)
        usual |= {(code, task): took_s for task, took_s in times.items()}
    found: dict[str, float] = {}
    for row in holders:
        if (took_s := usual.get((row.workflow_code, row.task_code))) is not None:
            left_s = max(0.0, took_s - row.held_s)
            found[row.name] = min(left_s, found.get(row.name, left_s))
    return found
