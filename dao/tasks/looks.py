"""Looks of tasks that wait, as a worker reports them: nothing was there, so the attempt waits for its next look.

The same row goes back to DELAY_EXECUTION, until a master queues it as any other whose time has come
(`dao/tasks/task_timers.py`). It keeps `queued_at`: its log has one name, and its timeout counts from there.

A halt of its run applies to it as to what returns to the queue (`dao/tasks/requeue.py`): its row is locked before the
run is read.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dao.postgres.database import FencedTransaction
from dao.postgres.notify import changed
from dao.postgres.row_arrays import RowArrays
from dao.postgres.sql import Sql
from model.changes import Changes
from model.ids import Epoch, TaskInstanceId
from model.runs.looks import Again


@dataclass(frozen=True, slots=True)
class InVain:
    """A look of an attempt that found nothing; `said` is what it saw, as a clause."""

    id: TaskInstanceId
    attempt: int
    said: str
    again: Again


_HOLD = Sql("SELECT FROM task_instance WHERE id = ANY(CAST(:ids AS bigint[])) ORDER BY id FOR NO KEY UPDATE")
# Pauses of ten seconds and more end with a whole second, so that a thousand that wait are queued in few batches.
# An attempt that follows one whose worker was lost has waited since that one was queued.
_LOOKED = Sql("""
    WITH looked AS (
        SELECT t.id, t.kill_requested, clock_timestamp() AS now, n.said, n.late, n.within_s, n.at_s,
               coalesce((t.looks ->> 'count')::bigint, 0) + 1 AS count,
               least(n.every_s * power(n.factor, least(coalesce((t.looks ->> 'count')::bigint, 0), 60)),
                     n.every_s_max) AS pause_s,
               (SELECT min(b.queued_at) FROM task_instance b                       -- index: task_instance_attempt
                WHERE b.workflow_instance_id = t.workflow_instance_id AND b.task_code = t.task_code
                  AND b.attempt <= t.attempt
                  AND b.attempt > coalesce((SELECT max(e.attempt) FROM task_instance e
                                            WHERE e.workflow_instance_id = t.workflow_instance_id
                                              AND e.task_code = t.task_code AND e.attempt < t.attempt
                                              AND e.state <> 'NEED_FAULT_TOLERANCE'), 0)) AS since,
               (SELECT coalesce(i.requested_state, i.state) FROM workflow_instance i
                WHERE i.id = t.workflow_instance_id) AS run_state
        FROM unnest(CAST(:id AS bigint[]), CAST(:attempt AS integer[]), CAST(:said AS text[]),
                    CAST(:again.late AS text[]), CAST(:again.every_s AS double precision[]),
                    CAST(:again.factor AS double precision[]), CAST(:again.every_s_max AS double precision[]),
                    CAST(:again.within_s AS double precision[]), CAST(:again.at_s AS double precision[]))
             AS n (id, attempt, said, late, every_s, factor, every_s_max, within_s, at_s)
        JOIN task_instance t
          ON t.id = n.id AND coalesce(t.attempt = n.attempt AND t.worker_id = :worker AND t.ended_at IS NULL, false)
    ), meant AS (
        SELECT l.*, l.since + l.within_s * interval '1 s' AS until,
               CASE WHEN l.kill_requested OR l.run_state IS NULL THEN 'KILL'
                    WHEN l.run_state IN ('READY_PAUSE', 'PAUSE') THEN 'PAUSE'
                    WHEN l.run_state NOT IN ('RUNNING_EXECUTION', 'FAILOVER') THEN 'KILL'
                    WHEN to_timestamp(l.at_s) <= l.now THEN 'SUCCESS'
                    WHEN l.since + l.within_s * interval '1 s' <= l.now THEN l.late
                    ELSE 'DELAY_EXECUTION' END AS state
        FROM looked l
    ), put AS (
        UPDATE task_instance t
        SET state = m.state,
            worker_id = CASE WHEN m.state <> 'DELAY_EXECUTION' THEN t.worker_id END,
            started_at = CASE WHEN m.state <> 'DELAY_EXECUTION' THEN t.started_at END,
            ended_at = CASE WHEN m.state <> 'DELAY_EXECUTION' THEN m.now END,
            wait_reason = CASE WHEN m.state = 'DELAY_EXECUTION' THEN 'LOOK' ELSE t.wait_reason END,
            due_at = CASE WHEN m.state <> 'DELAY_EXECUTION' THEN t.due_at
                          WHEN m.at_s IS NOT NULL THEN least(to_timestamp(m.at_s), m.until)
                          WHEN m.pause_s >= 10
                              THEN least(date_trunc('second', m.now + (m.pause_s + 1) * interval '1 s'), m.until)
                          ELSE least(m.now + m.pause_s * interval '1 s', m.until) END,
            reason = CASE m.state
                         WHEN 'KILL' THEN 'it was stopped while it waited'
                         WHEN 'PAUSE' THEN 'it was held back by a pause'
                         WHEN m.late THEN format('it waited for its timeout of %s; its last look: %s',
                             CASE WHEN m.within_s < 60 THEN trim_scale(round(m.within_s::numeric, 3)) || ' s'
                                  ELSE trim_scale(round((m.within_s / 60)::numeric, 3)) || ' min' END, m.said) END,
            looks = jsonb_build_object('count', m.count, 'at', m.now, 'said', m.said, 'worker', t.worker_id)
        FROM meant m WHERE t.id = m.id
        RETURNING t.id, t.workflow_instance_id, t.task_code, t.attempt, t.state
    ), reported AS (
        INSERT INTO task_event (workflow_instance_id, task_code, attempt, state)
        SELECT workflow_instance_id, task_code, attempt, state FROM put WHERE state <> 'DELAY_EXECUTION'
    )
    SELECT p.id, p.workflow_instance_id AS run,
           CASE WHEN p.state <> 'DELAY_EXECUTION'
                THEN coalesce((SELECT i.master_id FROM workflow_instance i WHERE i.id = p.workflow_instance_id), 0)
           END AS owner
    FROM put p
""")
_LOOKS = RowArrays(_LOOKED)


async def put_off(
    connection: FencedTransaction, looks: Sequence[InVain], worker: Epoch
) -> dict[TaskInstanceId, Epoch | None]:
    """Let attempts whose look was in vain wait for the next one, or end: at their timeout, at the moment that they wait
    for, or with their run.

    Returns those that still belonged to this worker, each with the master that is to be notified of its end (None: it
    waits).
    """
    await connection.execute(_HOLD, {"ids": [look.id for look in looks]})
    rows = (await connection.execute(_LOOKED, {**_LOOKS.values(looks), "worker": worker})).all()
    await changed(connection, Changes(tasks={row.run for row in rows}))
    return {TaskInstanceId(row.id): None if row.owner is None else Epoch(row.owner) for row in rows}
