"""Attempts that return to the queue: timers that are due, and tasks that a worker claimed but certainly did not start.
After a restore, those that stand there are looked at again.

A halt of their run applies to them. A pause or stop locks the open tasks of its run before it reads them
(`task_instances.halt`), and attempts that return are locked before this statement reads the run. So the later of the
two sees the result of the earlier one, and nothing of a halted run is queued, whichever commits first.
"""

from __future__ import annotations

from collections.abc import Sequence

from dao.postgres.database import FencedTransaction
from dao.postgres.notify import EVENT, POOL, changed, notify
from dao.postgres.sql import Sql
from model.changes import Changes
from model.choices import Priority
from model.ids import Epoch, TaskInstanceId, WorkflowInstanceId
from model.runs.queue_places import QueuedAttempt

# The tasks of a run that is missing or has ended are ended. By a scalar subquery, so that a task without a run is ended
# too, and not found again and again.
_PUT_BACK = Sql("""
    WITH meant AS (
        SELECT t.id,
               CASE WHEN t.kill_requested THEN 'KILL'
                    ELSE (SELECT CASE WHEN coalesce(i.requested_state, i.state) IN ('RUNNING_EXECUTION', 'FAILOVER')
                                          THEN 'QUEUED'
                                      WHEN coalesce(i.requested_state, i.state) IN ('READY_PAUSE', 'PAUSE') THEN 'PAUSE'
                                 END
                          FROM workflow_instance i WHERE i.id = t.workflow_instance_id) END AS state
        FROM task_instance t WHERE t.id = ANY(CAST(:ids AS bigint[]))
    ), put AS (
        UPDATE task_instance t
        SET state = coalesce(m.state, 'KILL'), worker_id = NULL, handover = NULL,
            queued_at = CASE WHEN m.state = 'QUEUED' AND t.state = 'DELAY_EXECUTION'
                                  AND t.wait_reason IS DISTINCT FROM 'LOOK' THEN clock_timestamp()
                             ELSE t.queued_at END,
            dispatch_by = CASE WHEN m.state = 'QUEUED' AND t.dispatch_timeout_s IS NOT NULL
                               THEN clock_timestamp() + least(t.dispatch_timeout_s, 1e9) * interval '1 s' END,
            ended_at = CASE WHEN m.state = 'QUEUED' THEN NULL ELSE clock_timestamp() END,
            reason = CASE m.state WHEN 'QUEUED' THEN t.reason WHEN 'PAUSE' THEN 'it was held back by a pause'
                                  ELSE 'it was stopped before it began' END
        FROM meant m WHERE t.id = m.id
        RETURNING t.workflow_instance_id, t.task_code, t.attempt, t.state, t.worker_group, t.workflow_priority,
                  t.resources IS NOT NULL AS is_for_pools, t.stream IS NOT NULL AS is_stream
    ), reported AS (
        INSERT INTO task_event (workflow_instance_id, task_code, attempt, state)
        SELECT workflow_instance_id, task_code, attempt, state FROM put WHERE state <> 'QUEUED'
    )
    SELECT p.state, p.worker_group, p.workflow_priority, p.is_for_pools, p.is_stream, p.workflow_instance_id AS run,
           CASE WHEN p.state <> 'QUEUED'
                THEN (SELECT i.master_id FROM workflow_instance i WHERE i.id = p.workflow_instance_id) END AS owner
    FROM put p
""")

_QUEUED = Sql("""
    SELECT id FROM task_instance
    WHERE workflow_instance_id = ANY(CAST(:runs AS bigint[])) AND coalesce(state = 'QUEUED', false)
    ORDER BY id FOR NO KEY UPDATE                                                   -- index: task_instance_attempt
""")


async def take_out(connection: FencedTransaction, runs: Sequence[WorkflowInstanceId]) -> None:
    """End what is queued of halted runs that nobody drives now: a worker may join before their next owner does."""
    queued = (await connection.execute(_QUEUED, {"runs": list(runs)})).scalars()
    await put_back(connection, [TaskInstanceId(id_) for id_ in queued])


async def put_back(connection: FencedTransaction, ids: Sequence[TaskInstanceId]) -> list[QueuedAttempt]:
    """Queue these attempts, which this transaction locks and no worker has started; returns each that needs only a
    place, so that the workers of its group can be notified. Those that wait for pools are notified here.

    If their run is halted they end instead, as PAUSE or KILL, and its owner is notified.
    """
    if not ids:
        return []
    rows = (await connection.execute(_PUT_BACK, {"ids": list(ids)})).all()
    await changed(connection, Changes(tasks={row.run for row in rows}))
    owners = {Epoch(row.owner) for row in rows if row.owner is not None}
    if owners:
        await notify(connection, EVENT, owners)
    if for_pools := {row.worker_group for row in rows if row.state == "QUEUED" and row.is_for_pools}:
        await notify(connection, POOL, for_pools)
    return [
        QueuedAttempt(Priority(row.workflow_priority), row.worker_group, row.run, row.is_stream)
        for row in rows
        if row.state == "QUEUED" and not row.is_for_pools
    ]
