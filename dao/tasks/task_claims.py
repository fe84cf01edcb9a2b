"""`task_instance` as a worker writes it: claims and reports.

Every write names the attempt and the worker. If it matches no row, the task was taken from this worker, which then
kills its process and reports nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from dao.alerts import results
from dao.pools.pool_checks import LATE_S
from dao.postgres.database import FencedTransaction
from dao.postgres.notify import changed
from dao.postgres.pool import AsyncConnection
from dao.postgres.row_arrays import RowArrays
from dao.postgres.sql import Sql
from dao.postgres.statements import statement
from dao.tasks import looks
from dao.tasks.looks import InVain
from model.changes import Changes
from model.choices import Priority
from model.cluster.low_water import Horizon
from model.ids import Epoch, TaskCode, TaskInstanceId, WorkflowCode, WorkflowInstanceId
from model.runs.looks import Again
from model.runs.queue_places import Places
from model.runs.states import TaskState
from model.time.intervals import Interval


class ClaimedTask(NamedTuple):
    """A task that this worker has to run. `state` is DISPATCH for one that must be marked RUNNING before it starts.

    `day` is the day on which it was queued, yyyyMMdd in UTC, for the log's path. `timeout_s` counts from its start.
    `schedule_time` (aware) and `time_zone` are those of its run; `parameter_types` is JSON text, and so are `stream`,
    which only streams have, and `leases`: what it holds of which pools. `waited_s` is how long it was queued; None if
    nobody knows. `traceparent` and `run_began_us`, microseconds since 1970, are those of its run.
    """

    id: TaskInstanceId
    workflow_instance_id: WorkflowInstanceId
    workflow_code: WorkflowCode
    code: TaskCode
    attempt: int
    name: str
    type: str
    state: TaskState
    params: str
    parameter_values: str
    day: str
    schedule_time: datetime
    time_zone: str
    interval_start: datetime | None = None
    interval_end: datetime | None = None
    timeout_s: float | None = None
    timeout_strategy: str | None = None
    dry_run: bool = False
    tenant: str | None = None
    parameter_types: str | None = None
    environment: str | None = None
    waited_s: float | None = None
    traceparent: str | None = None
    run_began_us: int | None = None
    workflow_priority: Priority = Priority.MEDIUM
    stream: str | None = None
    leases: str | None = None

    @property
    def interval(self) -> Interval | None:
        """That of its run."""
        return Interval.of(self.interval_start, self.interval_end)


@dataclass(frozen=True, slots=True)
class Report:
    """How an attempt ended, according to its worker. `outputs` is JSON text or None, and so is `alert`: whom its result
    is sent to (`dao/alerts/results.py`). With `again` it is a look in vain (`dao/tasks/looks.py`)."""

    id: TaskInstanceId
    attempt: int
    state: TaskState
    reason: str
    exit_code: int | None
    outputs: str | None
    alert: str | None = None
    again: Again | None = None


FEW = 200
"""So many attempts are read one by one."""


class WorkWaits(NamedTuple):
    """Whether tasks are queued that need only a place, whether tasks wait for resources, whether resources are to be
    checked, whether a task of this worker is to be ended, and whether streams are queued that need only a place.

    `given` is the last id that an attempt was given, and `horizon` how much of what was given it sees."""

    queued: bool
    for_pools: bool
    checks: bool
    kills: bool
    streams: bool
    given: int
    horizon: Horizon


def _claim(wanted: str, place: str = "") -> Sql:
    """Per group, so that each reads its own part of the index in order of priority; the outer LIMIT leaves the rest
    queued.

    Returns what a `ClaimedTask` has, but its leases. One row must not fail the fetch of all: a time in a year that
    Python does not support, a timeout that is not a number.
    """
    return Sql(f"""
        WITH picked AS MATERIALIZED (
            SELECT best.id FROM {wanted}
            CROSS JOIN LATERAL (
                SELECT id, workflow_priority, workflow_instance_id, task_priority FROM task_instance t
                WHERE state = 'QUEUED' AND worker_group = wanted.worker_group AND is_plain {place}
                  -- One of no run would keep its place in each claim: of a worker with one free place, the only one.
                  AND (SELECT i.id FROM workflow_instance i WHERE i.id = t.workflow_instance_id) IS NOT NULL
                ORDER BY workflow_priority, workflow_instance_id, task_priority, id  -- index: task_instance_queue
                LIMIT :limit
                FOR UPDATE SKIP LOCKED
            ) AS best
            WHERE NOT EXISTS (
                SELECT FROM node n JOIN drain d ON d.kind = n.kind AND d.name = coalesce(nullif(n.name, ''), n.address)
                WHERE n.id = :worker)
            ORDER BY best.workflow_priority, best.workflow_instance_id, best.task_priority, best.id
            LIMIT :limit
        )
        UPDATE task_instance t
        SET state = CASE WHEN t.write_ahead THEN 'RUNNING_EXECUTION' ELSE 'DISPATCH' END, worker_id = :worker,
            started_at = CASE WHEN t.write_ahead THEN clock_timestamp() END
        FROM workflow_instance i
        WHERE t.id = ANY(ARRAY(SELECT id FROM picked)) AND i.id = t.workflow_instance_id  -- a join may read all ids
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


_CLAIM = _claim("unnest(CAST(:groups AS text[])) AS wanted (worker_group)")
_CLAIM_AT = _claim(
    "unnest(CAST(:groups AS text[]), CAST(:runs AS bigint[])) AS wanted (worker_group, run)",
    "AND workflow_priority = CAST(:priority AS priority_level) AND workflow_instance_id >= wanted.run",
)
# Also matches its own earlier write, in case the answer to that was lost.
_MARK_RUNNING = Sql("""
    UPDATE task_instance SET state = 'RUNNING_EXECUTION', started_at = coalesce(started_at, clock_timestamp())
    WHERE id = :id AND attempt = :attempt AND worker_id = :worker AND state IN ('DISPATCH', 'RUNNING_EXECUTION')
      AND NOT kill_requested
""")
# `ended_at`, not the state, shows that the attempt still runs: a condition on the state would also match the index of
# everything that this worker runs, which would be read in full for each row. An attempt that a worker has and that has
# not ended is DISPATCH or RUNNING_EXECUTION.
_REPORT = Sql("""
    WITH ended AS (
        UPDATE task_instance t
        SET state = n.state, ended_at = clock_timestamp(), reason = nullif(n.reason, ''), exit_code = n.exit_code,
            outputs = n.outputs
        FROM unnest(CAST(:id AS bigint[]), CAST(:attempt AS integer[]), CAST(:exit_code AS integer[]),
                    CAST(:state AS text[]), CAST(:reason AS text[]), CAST(:outputs AS text[]))
             AS n (id, attempt, exit_code, state, reason, outputs)
        WHERE t.id = n.id AND coalesce(t.attempt = n.attempt AND t.worker_id = :worker AND t.ended_at IS NULL, false)
        RETURNING t.id, t.workflow_instance_id, t.task_code, t.attempt, t.state, t.outputs, t.cache_key, t.dry_run
    ), cached AS (
        INSERT INTO task_cache (key, outputs, of_run)
        SELECT DISTINCT ON (cache_key) cache_key, outputs,
               CASE WHEN strpos(outputs, 'shoal-value:v1:') > 0 THEN workflow_instance_id END
        FROM ended WHERE state = 'SUCCESS' AND cache_key IS NOT NULL AND NOT dry_run
        ORDER BY cache_key, id  -- two workers that write the same keys wait for each other in one direction only
        ON CONFLICT (key) DO UPDATE SET outputs = EXCLUDED.outputs, of_run = EXCLUDED.of_run
                          WHERE task_cache.of_run IS NOT NULL  -- it is gone, or goes before this one
    ), addressed AS MATERIALIZED (
        SELECT ended.*, (SELECT i.master_id FROM workflow_instance i WHERE i.id = ended.workflow_instance_id) AS owner
        FROM ended
    ), reported AS (
        INSERT INTO task_event (workflow_instance_id, task_code, attempt, state, outputs, owner)
        SELECT workflow_instance_id, task_code, attempt, state, outputs, owner FROM addressed
    )
    SELECT id, workflow_instance_id, owner FROM addressed
""")
_REPORTS = RowArrays(_REPORT)
# `state || ''`: so that the planner does not search the queue for what is asked of the attempts since the mark.
_WORK_WAITS = Sql("""
    SELECT CASE WHEN NOT :walks THEN false
                WHEN :first > 0 AND (SELECT last_value FROM task_instance_id_seq) < :first + :few THEN
               (SELECT id FROM task_instance                                           -- index: task_instance_pkey
                WHERE id >= :first AND state || '' = 'QUEUED' AND worker_group = ANY(CAST(:groups AS text[]))
                  AND is_plain ORDER BY id LIMIT 1) IS NOT NULL
                ELSE
               EXISTS (SELECT FROM task_instance WHERE state = 'QUEUED' AND worker_group = ANY(CAST(:groups AS text[]))
                       AND is_plain) END AS queued,
           EXISTS (SELECT FROM pool_line WHERE worker_group = ANY(CAST(:groups AS text[]))) AS for_pools,
           EXISTS (SELECT FROM checks_due(:late_s)) AS checks,
           CASE WHEN :walks AND :runs THEN
               EXISTS (SELECT FROM task_instance
                       WHERE worker_id = :worker AND state IN ('DISPATCH', 'RUNNING_EXECUTION')
                         AND (kill_requested OR handover IS NOT NULL)) ELSE false END AS kills,
           EXISTS (SELECT FROM task_instance                                        -- index: task_instance_stream
                   WHERE state = 'QUEUED' AND worker_group = ANY(CAST(:groups AS text[])) AND stream IS NOT NULL
                     AND resources IS NULL AND state IN ('QUEUED', 'DISPATCH', 'RUNNING_EXECUTION')) AS streams,
           (SELECT last_value - CASE WHEN is_called THEN 0 ELSE 1 END FROM task_instance_id_seq) AS given,
           pg_snapshot_xmin(pg_current_snapshot())::text::bigint AS oldest_transaction,
           pg_snapshot_xmax(pg_current_snapshot())::text::bigint AS next_transaction
""")


async def claim(
    connection: FencedTransaction, groups: Sequence[str], limit: int, worker: Epoch, places: Places | None = None
) -> list[ClaimedTask]:
    """Take up to `limit` queued tasks of these worker groups, most urgent first; none for a worker that is drained.

    With `places` only there is searched, whatever the groups are.
    """
    if places is None:
        rows = (await connection.execute(_CLAIM, {"groups": list(groups), "limit": limit, "worker": worker})).all()
        claimed = [ClaimedTask(*row) for row in rows]
    else:
        claimed = []
        for priority in Priority:
            if (runs := places.get(priority)) and len(claimed) < limit:
                values = {"priority": priority, "groups": list(runs), "runs": list(runs.values()), "worker": worker}
                rows = (await connection.execute(_CLAIM_AT, {**values, "limit": limit - len(claimed)})).all()
                claimed += [ClaimedTask(*row) for row in rows]
    await changed(connection, Changes(tasks={task.workflow_instance_id for task in claimed}))
    return claimed


async def mark_running(connection: FencedTransaction, task: ClaimedTask, worker: Epoch) -> bool:
    """Record, before its process exists, that a task starts. False: it must not start, since it was taken from this
    worker or stopped."""
    values = {"id": task.id, "attempt": task.attempt, "worker": worker}
    await changed(connection, Changes(tasks={task.workflow_instance_id}))
    return (await connection.execute(_MARK_RUNNING, values)).rowcount == 1


async def report(
    connection: FencedTransaction, reports: Sequence[Report], worker: Epoch
) -> dict[TaskInstanceId, Epoch | None]:
    """Write the ends of attempts. Returns those that still belonged to this worker, each with the master that owns its
    run and is to be notified; None for one that has not ended, since it looks again.

    The outputs of a success with a cache key are stored for later tasks with the same key.
    """
    in_vain = [InVain(each.id, each.attempt, each.reason, each.again) for each in reports if each.again is not None]
    written = await looks.put_off(connection, in_vain, worker) if in_vain else {}
    if in_vain:
        reports = [each for each in reports if each.again is None]
        if not reports:
            return written
    rows = (await connection.execute(_REPORT, {**_REPORTS.values(reports), "worker": worker})).all()
    await changed(connection, Changes(tasks={row.workflow_instance_id for row in rows}))
    written |= {TaskInstanceId(row.id): Epoch(row.owner) for row in rows}
    alerts = {each.id: each.alert for each in reports if each.alert is not None and each.id in written}
    await results.insert(connection, alerts)
    return written


@statement("""
    SELECT id, CASE WHEN NOT kill_requested THEN handover END AS handover FROM task_instance
    WHERE worker_id = :worker AND state IN ('DISPATCH', 'RUNNING_EXECUTION')
      AND (kill_requested OR handover IS NOT NULL)
""")
async def to_end(connection: AsyncConnection, worker: Epoch) -> dict[TaskInstanceId, str | None]:
    """Running tasks of this worker that are to be killed (None), or handed over, with the reason."""


# What a `ClaimedTask` has. Its leases are a JSON object: for each pool the list of what it holds of it, with name and
# data. `coalesce`: by the index of the worker it would read all that the worker holds, for each attempt.
@statement("""
    SELECT t.id, t.workflow_instance_id, i.workflow_code, t.task_code, t.attempt, t.task_name, t.task_type,
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
    FROM task_instance t JOIN workflow_instance i ON i.id = t.workflow_instance_id
    WHERE t.worker_id = :worker AND t.state IN ('DISPATCH', 'RUNNING_EXECUTION')
""")
async def owned(connection: AsyncConnection, worker: Epoch) -> list[ClaimedTask]:
    """The tasks that this worker runs according to the database."""


async def work_waits(
    connection: AsyncConnection,
    groups: Sequence[str],
    worker: Epoch,
    *,
    walks: bool = True,
    first: int = 0,
    runs: bool = True,
) -> WorkWaits:
    """What there is to do for a worker of these groups; `runs`: it runs something that may be to be ended.

    If it does not walk, it leaves out what is searched from the first entry of an index on: `queued`, `kills`. With
    `first` it searches the attempts from this id on instead of the queue, unless more than a `FEW` follow.
    """
    values = {
        "groups": list(groups),
        "worker": worker,
        "late_s": LATE_S,
        "walks": walks,
        "first": first,
        "few": FEW,
        "runs": runs,
    }
    row = (await connection.execute(_WORK_WAITS, values)).one()
    horizon = Horizon(row.oldest_transaction, row.next_transaction)
    return WorkWaits(row.queued, row.for_pools, row.checks, row.kills, row.streams, row.given, horizon)
