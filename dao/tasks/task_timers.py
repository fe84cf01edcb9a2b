"""Attempts whose time has come: a wait that is over, or a worker that did not take one in time. For any master."""

from __future__ import annotations

from collections.abc import Sequence

from dao.postgres.database import FencedTransaction
from dao.postgres.notify import EVENT, changed, notify
from dao.postgres.pool import AsyncConnection
from dao.postgres.sql import Sql
from dao.postgres.statements import statement
from dao.tasks.requeue import put_back
from model.changes import Changes
from model.ids import TaskInstanceId
from model.runs.queue_places import QueuedAttempt

# Level-triggered, by any master: timers are rows, whichever run they belong to.
_HOLD_DUE = Sql("""
    SELECT id FROM task_instance
    WHERE state = 'DELAY_EXECUTION' AND due_at <= now()                             -- index: task_instance_due
      AND id <> ALL(CAST(:without AS bigint[])) AND (CAST(:only AS bigint) IS NULL OR id = CAST(:only AS bigint))
    ORDER BY due_at LIMIT :limit FOR UPDATE SKIP LOCKED
""")
# Level-triggered, by any master. The row is locked, so a concurrent claim and this statement see each other's result.
# The first reason says which resources it did not get; it is null if it needs none, or could have had them all.
_FAIL_UNDISPATCHED = Sql("""
    WITH late AS (
        SELECT id, CASE WHEN dispatch_timeout_s < 60 THEN trim_scale(round(dispatch_timeout_s::numeric, 3)) || ' s'
                        ELSE trim_scale(round((dispatch_timeout_s / 60)::numeric, 3)) || ' min' END AS span
        FROM task_instance
        WHERE state = 'QUEUED' AND dispatch_by <= now()                            -- index: task_instance_undispatched
          AND id <> ALL(CAST(:without AS bigint[])) AND (CAST(:only AS bigint) IS NULL OR id = CAST(:only AS bigint))
        ORDER BY dispatch_by LIMIT :limit FOR UPDATE SKIP LOCKED
    ), failed AS (
        UPDATE task_instance t
        SET state = 'FAILURE', ended_at = clock_timestamp(),
            reason = coalesce(
                (SELECT format(
                     'it did not get %s within its dispatch_timeout of %s; give the %s more, or give it more time',
                     string_agg(short.what, ' and ' ORDER BY short.what), late.span,
                     CASE count(*) WHEN 1 THEN 'pool' ELSE 'pools' END)
                 FROM (
                     SELECT format('%s of pool %s, ', n.number, n.name)
                            || CASE WHEN p.code IS NULL THEN 'which does not exist'
                                    WHEN r.free < n.number::integer
                                        THEN format('of which %s of %s were free', r.free, r.size)
                                    ELSE format('of which %s of %s were free, with others before it', r.free, r.size)
                               END AS what
                     FROM jsonb_each_text(t.resources) AS n (name, number)
                     LEFT JOIN resource_pool p ON p.name = n.name
                     LEFT JOIN LATERAL (
                         SELECT count(*) FILTER (WHERE r.task_instance_id IS NULL AND r.set_aside_at IS NULL
                                                       AND r.checking_by IS NULL AND NOT r.removed) AS free,
                                count(*) FILTER (WHERE NOT r.removed) AS size
                         FROM pool_resource r                                      -- index: pool_resource_name
                         WHERE r.pool_code = p.code) AS r ON true
                     WHERE p.code IS NULL OR r.free < n.number::integer
                        OR EXISTS (
                            SELECT FROM pool_line l
                            WHERE l.pool_name = n.name
                              AND (l.workflow_priority, l.workflow_instance_id, l.task_priority, l.task_instance_id)
                                  < (t.workflow_priority, t.workflow_instance_id, t.task_priority, t.id))
                 ) AS short HAVING count(*) > 0),
                format('no worker of group %s took it within its dispatch_timeout of %s; start one there, or give '
                       'it more time', t.worker_group, late.span))
        FROM late WHERE t.id = late.id
        RETURNING t.workflow_instance_id, t.task_code, t.attempt, t.state
    ), reported AS (
        INSERT INTO task_event (workflow_instance_id, task_code, attempt, state) SELECT * FROM failed
    )
    SELECT (SELECT master_id FROM workflow_instance i WHERE i.id = f.workflow_instance_id) AS owner,
           f.workflow_instance_id AS run FROM failed f
""")


@statement("""
    SELECT id FROM task_instance
    WHERE state = 'DELAY_EXECUTION' AND due_at <= now() AND id <> ALL(CAST(:without AS bigint[]))
    ORDER BY due_at LIMIT :limit                                                    -- index: task_instance_due
""")
async def due(connection: AsyncConnection, limit: int, without: Sequence[TaskInstanceId]) -> list[TaskInstanceId]:
    """Up to `limit` attempts whose wait is over, except these."""


async def queue_due(
    connection: FencedTransaction,
    limit: int,
    without: Sequence[TaskInstanceId] = (),
    only: TaskInstanceId | None = None,
) -> list[QueuedAttempt]:
    """Queue up to `limit` attempts whose wait is over, or end them if their run is halted.

    Returns each queued one that needs only a place.
    """
    rows = await connection.execute(_HOLD_DUE, {"limit": limit, "without": list(without), "only": only})
    return await put_back(connection, [TaskInstanceId(id_) for (id_,) in rows.all()])


# What began to wait in the future: the clock has been set back since. It waits for as long as was meant, from now on.
@statement("""
    UPDATE task_instance t
    SET queued_at = n.now,
        due_at = CASE WHEN state <> 'DELAY_EXECUTION' THEN due_at
                      WHEN wait_reason = 'LOOK' THEN n.now
                      WHEN isfinite(due_at) AND isfinite(queued_at)
                          THEN n.now + greatest(due_at - queued_at, interval '0 s')
                      ELSE least(due_at, n.now) END,
        dispatch_by = CASE WHEN dispatch_by IS NOT NULL
                           THEN least(dispatch_by, n.now + least(dispatch_timeout_s, 1e9) * interval '1 s') END
    FROM (SELECT clock_timestamp() AS now) AS n
    WHERE t.id = ANY(ARRAY(SELECT id FROM task_instance                             -- index: task_instance_timed
                           WHERE (state = 'DELAY_EXECUTION' OR state = 'QUEUED' AND dispatch_by IS NOT NULL)
                             AND queued_at > now() + interval '1 s'
                           ORDER BY queued_at DESC LIMIT :limit FOR UPDATE SKIP LOCKED))
""")
async def resume(connection: FencedTransaction, limit: int) -> int:
    """Let up to `limit` attempts that began to wait before the clock was set back begin now. Returns how many."""


@statement("""
    SELECT extract(epoch FROM least(
        (SELECT min(due_at) FROM task_instance                                     -- index: task_instance_due
         WHERE state = 'DELAY_EXECUTION' AND due_at > now()),
        (SELECT min(dispatch_by) FROM task_instance                                -- index: task_instance_undispatched
         WHERE state = 'QUEUED' AND dispatch_by > now()),
        (SELECT min(due_at) FROM task_instance                                     -- index: task_instance_approval
         WHERE state = 'RUNNING_EXECUTION' AND task_type = 'APPROVAL' AND due_at > now()),
        '9999-01-01') - now())::float8
""")
async def next_due_in_s(connection: AsyncConnection) -> float:
    """Seconds until the next attempt is due or has waited too long for a worker or an answer; very many if there is
    none."""


@statement("""
    SELECT id FROM task_instance
    WHERE state = 'QUEUED' AND dispatch_by <= now() AND id <> ALL(CAST(:without AS bigint[]))
    ORDER BY dispatch_by LIMIT :limit                                               -- index: task_instance_undispatched
""")
async def undispatched(
    connection: AsyncConnection, limit: int, without: Sequence[TaskInstanceId]
) -> list[TaskInstanceId]:
    """Up to `limit` queued attempts that no worker took in time, except these."""


async def fail_undispatched(
    connection: FencedTransaction,
    limit: int,
    without: Sequence[TaskInstanceId] = (),
    only: TaskInstanceId | None = None,
) -> int:
    """End up to `limit` queued attempts that no worker took in time as FAILURE; notifies owners. Returns how many."""
    rows = (
        await connection.execute(_FAIL_UNDISPATCHED, {"limit": limit, "without": list(without), "only": only})
    ).all()
    if rows:
        await changed(connection, Changes(tasks={row.run for row in rows}))
        await notify(connection, EVENT, {row.owner for row in rows if row.owner is not None})
    return len(rows)
