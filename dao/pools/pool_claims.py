"""The claim of attempts that need resources: an attempt and all its leases, in one transaction.

A transaction of its own, so that the claim of what needs none never waits for it. It holds the rows of the pools,
always in the order of their codes; one that somebody else holds is left out and tried again soon, so that nobody waits
for a worker that was stopped in here. Whose turn it is is decided in between (`model/pools/turns.py`).
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from dao.pools import pool_leases
from dao.postgres.database import FencedTransaction
from dao.postgres.notify import changed
from dao.postgres.sql import Sql
from dao.tasks.task_claims import ClaimedTask
from model.changes import Changes
from model.choices import Priority
from model.ids import Epoch, TaskInstanceId, WorkflowInstanceId
from model.pools.turns import PoolRoom, Waiter
from model.runs.queue_places import Places

FREE_READ_MAX = 500
"""So many of each line that need the same and may get it are read at once."""
HELD_MS_MAX = 500
"""For so long a worker that is stopped between two statements of its claim holds up the other claims of its pools; then
the database ends the transaction."""

# One step of the index for each pool and group.
_HOLD = Sql("""
    WITH RECURSIVE waiting (worker_group, name) AS (
        SELECT wanted.worker_group,
               (SELECT min(l.pool_name) FROM pool_line l WHERE l.worker_group = wanted.worker_group)
        FROM unnest(CAST(:groups AS text[])) AS wanted (worker_group)
        UNION ALL
        SELECT w.worker_group, (SELECT min(l.pool_name) FROM pool_line l       -- index: pool_line_group
                                WHERE l.worker_group = w.worker_group AND l.pool_name > w.name)
        FROM waiting w WHERE w.name IS NOT NULL
    ), wanted AS MATERIALIZED (
        SELECT DISTINCT p.code, p.name FROM waiting w JOIN resource_pool p ON p.name = w.name
        WHERE NOT EXISTS (
            SELECT FROM node n JOIN drain d ON d.kind = n.kind AND d.name = coalesce(nullif(n.name, ''), n.address)
            WHERE n.id = :worker)
    ), held AS MATERIALIZED (
        SELECT p.code FROM resource_pool p WHERE p.code = ANY(ARRAY(SELECT code FROM wanted))
        ORDER BY p.code FOR NO KEY UPDATE SKIP LOCKED
    ), limited AS MATERIALIZED (
        SELECT set_config('idle_in_transaction_session_timeout', :held_max, true)
    )
    SELECT w.name, held.code IS NOT NULL AS is_held
    FROM wanted w CROSS JOIN limited LEFT JOIN held ON held.code = w.code
""")
# Of each pool for which anything waits, of any worker group: what needs several pools may wait for any of them. A pool
# that is a number gives no more than that in all, also while places that were taken from it are still held. What
# streams hold is found from the few that there are. OFFSET: a plan must not read all resources for it.
# `line` takes a step of an index for each pool, however many wait: in the order of two columns, which only the primary
# key has, whatever the statistics say.
_ROOMS = Sql("""
    WITH RECURSIVE line (name) AS (
        (SELECT l.pool_name FROM pool_line l ORDER BY l.pool_name, l.workflow_priority LIMIT 1)
        UNION ALL
        SELECT (SELECT l.pool_name FROM pool_line l WHERE l.pool_name > line.name  -- index: pool_line_pkey
                ORDER BY l.pool_name, l.workflow_priority LIMIT 1)
        FROM line WHERE line.name IS NOT NULL
    ), of_streams AS MATERIALIZED (
        SELECT held.pool_code, count(*) AS number
        FROM task_instance t
        CROSS JOIN LATERAL (SELECT r.pool_code FROM pool_resource r                -- index: pool_resource_holder
                            WHERE r.task_instance_id = t.id AND r.set_aside_at IS NULL AND NOT r.removed
                            OFFSET 0) AS held
        WHERE t.stream IS NOT NULL AND t.state IN ('QUEUED', 'DISPATCH', 'RUNNING_EXECUTION')
          AND t.state <> 'QUEUED' AND t.resources IS NOT NULL                      -- index: task_instance_stream
        GROUP BY held.pool_code
    )
    SELECT p.name, r.size, coalesce(s.number, 0) AS by_streams,
           p.validity_check IS NOT NULL AND r.unchecked AS unchecked,
           CASE WHEN p.counted IS NULL THEN r.free ELSE greatest(least(r.free, r.size - r.taken), 0) END AS free
    FROM line JOIN resource_pool p ON p.name = line.name
    LEFT JOIN LATERAL checks_count_since(p) AS together ON true
    CROSS JOIN LATERAL (
        SELECT count(*) FILTER (WHERE r.task_instance_id IS NULL AND r.set_aside_at IS NULL
                                      AND r.checking_by IS NULL AND NOT r.removed
                                      AND check_counts(p.validity_check, r.checked_at, r.free_since, together.since)
                               ) AS free,
               coalesce(bool_or(r.task_instance_id IS NULL AND r.set_aside_at IS NULL AND r.checking_by IS NULL
                                AND NOT r.removed
                                AND check_counts(p.validity_check, r.checked_at, r.free_since, together.since)
                                    IS NOT TRUE), false) AS unchecked,
               count(*) FILTER (WHERE r.set_aside_at IS NULL AND NOT r.removed) AS size,
               count(*) FILTER (WHERE (r.set_aside_at IS NULL OR r.removed) AND r.task_instance_id IS NOT NULL) AS taken
        FROM pool_resource r WHERE r.pool_code = p.code) AS r                  -- index: pool_resource_name
    LEFT JOIN of_streams s ON s.pool_code = p.code
""")
# Those of a line that need the same differ only in their order. So of each kind the first are read, as many as may get
# it and one that may reserve: however many wait, and for whatever they do. A row that was changed by hand may have
# anything: a cast of it would end the statement, for all lines.
_WAITERS = Sql("""
    WITH pool (name, free) AS MATERIALIZED (
        SELECT * FROM unnest(CAST(:pools AS text[]), CAST(:pools_free AS bigint[]))
    )
    SELECT first.* FROM pool CROSS JOIN LATERAL kinds_in_line(pool.name) AS k
    CROSS JOIN LATERAL (
        SELECT l.workflow_priority, l.workflow_instance_id, l.task_priority, l.task_instance_id, l.worker_group,
               l.needs, queued.is_stream
        FROM pool_line l                                                       -- index: pool_line_kind
        CROSS JOIN LATERAL (SELECT t.stream IS NOT NULL AS is_stream FROM task_instance t
                            WHERE t.id = l.task_instance_id AND t.state = 'QUEUED' OFFSET 0) AS queued
        WHERE (l.pool_name || '') = k.pool_name
          AND ((l.worker_group || ''), jsonb_hash_extended(l.needs, 0)) >= (k.worker_group, k.hash)
          AND ((l.worker_group || ''), jsonb_hash_extended(l.needs, 0)) <= (k.worker_group, k.hash)
          -- One of no run would keep its place, and the resources that it needs, in each claim.
          AND (SELECT i.id FROM workflow_instance i WHERE i.id = l.workflow_instance_id) IS NOT NULL
        ORDER BY (l.pool_name || ''), (l.worker_group || ''), jsonb_hash_extended(l.needs, 0),
                 l.workflow_priority, l.workflow_instance_id, l.task_priority, l.task_instance_id
        LIMIT least(pool.free, :read_max) + 1) AS first
    WHERE k.worker_group = ANY(CAST(:served AS text[])) AND jsonb_typeof(k.needs) = 'object'
      -- What could not begin even if nobody had any reserves nothing.
      AND NOT EXISTS (SELECT FROM jsonb_each(CASE jsonb_typeof(k.needs) WHEN 'object' THEN k.needs END) AS need
                      WHERE need.value > coalesce(CAST(:sizes AS jsonb) -> need.key, '0'))
    UNION
    SELECT plain.*
    FROM unnest(CAST(:groups AS text[]), CAST(:priorities AS priority_level[]), CAST(:runs AS bigint[]))
         AS wanted (worker_group, priority, run)
    CROSS JOIN LATERAL (
        SELECT t.workflow_priority, t.workflow_instance_id, t.task_priority, t.id, t.worker_group, CAST(NULL AS jsonb),
               false
        FROM task_instance t WHERE t.state = 'QUEUED' AND t.worker_group = wanted.worker_group AND t.is_plain
          AND t.workflow_priority = wanted.priority AND t.workflow_instance_id >= wanted.run
          AND (SELECT i.id FROM workflow_instance i WHERE i.id = t.workflow_instance_id) IS NOT NULL
        ORDER BY t.workflow_instance_id, t.task_priority, t.id                        -- index: task_instance_queue
        LIMIT :places) AS plain
""")
_HOLD_ATTEMPTS = Sql("""
    SELECT t.id FROM task_instance t
    WHERE t.id = ANY(CAST(:ids AS bigint[])) AND coalesce(t.state = 'QUEUED', false)
      AND (SELECT i.id FROM workflow_instance i WHERE i.id = t.workflow_instance_id) IS NOT NULL
    FOR UPDATE SKIP LOCKED
""")
# The n-th resource of a pool that is free goes to the n-th need of it.
_TAKE = Sql("""
    WITH need AS (
        SELECT p.code, n.id, row_number() OVER (PARTITION BY p.code ORDER BY n.ordinal, one) AS turn
        FROM unnest(CAST(:ids AS bigint[]), CAST(:pools AS text[]), CAST(:numbers AS integer[]))
             WITH ORDINALITY AS n (id, pool_name, number, ordinal)
        JOIN resource_pool p ON p.name = n.pool_name
        CROSS JOIN LATERAL generate_series(1, n.number) AS one
    ), free AS (
        SELECT each.id, p.code, row_number() OVER (PARTITION BY p.code ORDER BY each.free_since, each.id) AS turn
        FROM resource_pool p LEFT JOIN LATERAL checks_count_since(p) AS together ON true
        CROSS JOIN LATERAL (
            SELECT r.id, r.free_since FROM pool_resource r
            WHERE r.pool_code = p.code AND r.task_instance_id IS NULL AND r.set_aside_at IS NULL
              AND r.checking_by IS NULL AND NOT r.removed                            -- index: pool_resource_free
              AND check_counts(p.validity_check, r.checked_at, r.free_since, together.since)
            ORDER BY r.free_since, r.id LIMIT (SELECT count(*) FROM need WHERE need.code = p.code)) AS each
        WHERE p.name = ANY(CAST(:pools AS text[]))
    )
    UPDATE pool_resource r
    SET task_instance_id = need.id, worker_id = :worker, taken_at = clock_timestamp()
    FROM free JOIN need ON need.code = free.code AND need.turn = free.turn
    WHERE r.id = free.id AND coalesce(r.task_instance_id IS NULL AND r.set_aside_at IS NULL
                                      AND r.checking_by IS NULL AND NOT r.removed, false)
""")
# Its trigger leaves out an attempt that does not have all of its leases. It returns what a `ClaimedTask` has, as
# `_OWNED` of dao/tasks/task_claims.py does.
_CLAIM = Sql("""
    UPDATE task_instance t
    SET state = CASE WHEN t.write_ahead THEN 'RUNNING_EXECUTION' ELSE 'DISPATCH' END, worker_id = :worker,
        started_at = CASE WHEN t.write_ahead THEN clock_timestamp() END, ready_at = NULL, handover = NULL
    FROM workflow_instance i
    WHERE t.id = ANY(CAST(:ids AS bigint[])) AND coalesce(t.state = 'QUEUED', false) AND i.id = t.workflow_instance_id
    RETURNING t.id, t.workflow_instance_id, i.workflow_code, t.task_code, t.attempt, t.task_name, t.task_type,
              t.state, t.params, t.parameter_values, to_char(t.queued_at, 'YYYYMMDD'),
              least(greatest(i.schedule_time, '0100-01-01 00:00Z'), '9900-01-01 00:00Z'), i.time_zone,
              i.interval_start, i.interval_end,
              CASE WHEN t.timeout_s < 1e9 THEN t.timeout_s END, t.timeout_strategy, t.dry_run, t.tenant,
              t.parameter_types, t.environment,
              CASE WHEN isfinite(t.queued_at) THEN extract(epoch FROM clock_timestamp() - t.queued_at)::float8 END,
              i.traceparent,
              CASE WHEN isfinite(i.started_at) THEN (extract(epoch FROM i.started_at) * 1000000)::bigint END,
              t.workflow_priority, t.stream::text,
              CASE WHEN t.resources IS NOT NULL THEN (
                  SELECT json_object_agg(each.pool_name, each.leases)::text FROM (
                      SELECT p.name AS pool_name,
                             json_agg(json_build_object('name', r.name, 'data', r.data)
                                      ORDER BY r.place, r.id) AS leases
                      FROM pool_resource r JOIN resource_pool p ON p.code = r.pool_code  -- index: pool_resource_holder
                      WHERE r.task_instance_id = t.id AND coalesce(r.worker_id = t.worker_id, false)
                      GROUP BY p.name) AS each) END
""")


async def hold_pools(connection: FencedTransaction, groups: Sequence[str], worker: Epoch) -> dict[str, bool]:
    """Hold the pools for which attempts of these groups wait: their names, and whether this transaction holds each.

    None for a worker that is drained. From here on the transaction may pause for `HELD_MS_MAX` only.
    """
    values = {"groups": list(groups), "worker": worker, "held_max": f"{HELD_MS_MAX}ms"}
    return {row.name: row.is_held for row in await connection.execute(_HOLD, values)}


async def rooms(connection: FencedTransaction, held: Mapping[str, bool]) -> dict[str, PoolRoom]:
    """What the pools can give for which anything waits, by name."""
    rows = (await connection.execute(_ROOMS)).all()
    return {
        row.name: PoolRoom(row.free, row.size, held.get(row.name, False), row.unchecked, row.by_streams) for row in rows
    }


async def waiters(
    connection: FencedTransaction,
    rooms: Mapping[str, PoolRoom],
    groups: Sequence[str],
    served: Collection[str],
    places: int,
    plain: Places | None = None,
) -> list[Waiter]:
    """Who may get or reserve resources of the held pools, and the most urgent of `groups` that need only a place.

    `plain`: where in the queue those may wait; None = everywhere.
    """
    if plain is None:
        plain = {priority: dict.fromkeys(groups, 0) for priority in Priority}
    searched = [(group, priority, run) for priority, runs in plain.items() for group, run in runs.items()]
    held = {name: room for name, room in rooms.items() if room.is_held}
    values = {
        "pools": list(held),
        "pools_free": [room.free for room in held.values()],
        "sizes": json.dumps({name: room.size for name, room in rooms.items()}),
        "read_max": FREE_READ_MAX,
        "served": sorted({*groups, *served}),
        "groups": [group for group, _, _ in searched],
        "priorities": [priority for _, priority, _ in searched],
        "runs": [run for _, _, run in searched],
        "places": places,
    }
    return [
        Waiter(
            Priority(workflow_priority),
            WorkflowInstanceId(run),
            Priority(task_priority),
            TaskInstanceId(id_),
            group,
            needs or {},
            is_stream,
        )
        for workflow_priority, run, task_priority, id_, group, needs, is_stream in (
            await connection.execute(_WAITERS, values)
        ).all()
        if needs is None or _are_needs(needs)
    ]


def _are_needs(stored: Any) -> bool:
    """Whether a row of a line says how many of which pools."""
    return bool(stored) and all(type(number) is int and number > 0 for number in stored.values())


async def claim(connection: FencedTransaction, given: Sequence[Waiter], worker: Epoch) -> list[ClaimedTask]:
    """Take these attempts with all their leases; the transaction holds their pools. Returns those that it took: what
    another session has locked just now stays queued."""
    held = (await connection.execute(_HOLD_ATTEMPTS, {"ids": [waiter.id for waiter in given]})).scalars()
    taken = [waiter for waiter in given if waiter.id in set(held)]
    needs = [(waiter.id, name, number) for waiter in taken for name, number in sorted(waiter.needs.items())]
    if not needs:
        return []
    values = dict(zip(("ids", "pools", "numbers"), map(list, zip(*needs, strict=True)), strict=True))
    await connection.execute(_TAKE, {**values, "worker": worker})
    rows = (await connection.execute(_CLAIM, {"ids": [waiter.id for waiter in taken], "worker": worker})).all()
    claimed = [ClaimedTask(*row) for row in rows]
    if refused := {waiter.id for waiter in taken} - {task.id for task in claimed}:  # somebody changed rows by hand
        await pool_leases.free(connection, refused, worker)
    await changed(connection, Changes(tasks={task.workflow_instance_id for task in claimed}))
    return claimed
