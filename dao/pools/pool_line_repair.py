"""What is put right about resource pools if rows were changed or deleted by hand: their lines are those of the queue.

Triggers write the lines with each change of an attempt. Deleting an attempt or a row of a line, or restoring a table,
leaves a difference. Level-triggered, by any master.
"""

from __future__ import annotations

from dao.postgres.database import FencedTransaction
from dao.postgres.notify import POOL, notify
from dao.postgres.sql import Sql
from dao.postgres.statements import statement

_JOIN = Sql("""
    WITH missing AS (
        SELECT t.id, t.resources, t.workflow_priority, t.workflow_instance_id, t.task_priority, t.worker_group
        FROM task_instance t
        WHERE t.state = 'QUEUED' AND NOT t.is_plain AND t.resources IS NOT NULL     -- index: task_instance_queue
          AND EXISTS (SELECT FROM jsonb_object_keys(t.resources) AS need (name)
                      WHERE NOT EXISTS (
                          SELECT FROM pool_line l                                  -- its primary key
                          WHERE l.pool_name = need.name AND l.workflow_priority = t.workflow_priority
                            AND l.workflow_instance_id = t.workflow_instance_id AND l.task_priority = t.task_priority
                            AND l.task_instance_id = t.id))
        LIMIT :limit FOR UPDATE OF t SKIP LOCKED
    ), joined AS (
        INSERT INTO pool_line (pool_name, workflow_priority, workflow_instance_id, task_priority, task_instance_id,
                               needed, needs, worker_group)
        SELECT need.name, m.workflow_priority, m.workflow_instance_id, m.task_priority, m.id, need.number::integer,
               m.resources, m.worker_group
        FROM missing m CROSS JOIN LATERAL jsonb_each_text(m.resources) AS need (name, number)
        ON CONFLICT DO NOTHING RETURNING worker_group
    )
    SELECT worker_group, (SELECT count(*) FROM missing) FROM joined GROUP BY worker_group
""")


# Rows `l` that are not the place of an attempt that waits.
# The attempt is held, so that nobody queues or claims it meanwhile; a transaction that waits for its lock comes later.
@statement("""
    WITH left_over AS (
        SELECT l.* FROM pool_line l
        WHERE coalesce(
            (SELECT t.state <> 'QUEUED' OR t.resources IS DISTINCT FROM l.needs
                    OR t.resources ->> l.pool_name IS DISTINCT FROM l.needed::text
                    OR (t.workflow_priority, t.workflow_instance_id, t.task_priority, t.worker_group)
                       IS DISTINCT FROM (l.workflow_priority, l.workflow_instance_id, l.task_priority, l.worker_group)
             FROM task_instance t WHERE t.id = l.task_instance_id), true)
        LIMIT :limit FOR UPDATE SKIP LOCKED
    )
    DELETE FROM pool_line l USING left_over o
    WHERE l.pool_name = o.pool_name AND l.workflow_priority = o.workflow_priority
      AND l.workflow_instance_id = o.workflow_instance_id AND l.task_priority = o.task_priority
      AND l.task_instance_id = o.task_instance_id
      AND coalesce(
          (SELECT t.state <> 'QUEUED' OR t.resources IS DISTINCT FROM l.needs
                  OR t.resources ->> l.pool_name IS DISTINCT FROM l.needed::text
                  OR (t.workflow_priority, t.workflow_instance_id, t.task_priority, t.worker_group)
                     IS DISTINCT FROM (l.workflow_priority, l.workflow_instance_id, l.task_priority, l.worker_group)
           FROM task_instance t WHERE t.id = l.task_instance_id), true)
""")
async def leave_lines(connection: FencedTransaction, limit: int) -> int:
    """Delete up to `limit` rows of lines whose attempts do not wait. Returns how many."""


async def join_lines(connection: FencedTransaction, limit: int) -> int:
    """Put up to `limit` attempts that wait into the lines in which they are not. Returns how many."""
    rows = (await connection.execute(_JOIN, {"limit": limit})).all()
    if rows:
        await notify(connection, POOL, {group for group, _ in rows})
    return int(rows[0][1]) if rows else 0
