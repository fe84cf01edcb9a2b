"""`task_instance` as its master writes it: queued, stopped, read again after a failover.

Attempts that return to the queue are handled by `dao/tasks/requeue.py`.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from dao.postgres.database import FencedTransaction
from dao.postgres.notify import changed
from dao.postgres.row_arrays import RowArrays
from dao.postgres.sql import Sql
from dao.postgres.statements import changing, statement
from dao.runs.workflow_instances import OwnershipLost, named
from model.changes import Changes
from model.choices import Priority, TimeoutStrategy
from model.ids import Epoch, TaskCode, WorkflowInstanceId
from model.runs.instances import AttemptEnd, TaskAttempt
from model.runs.states import TaskState


class NewTask(NamedTuple):
    """An attempt to write, and what its row has of its task.

    `params`, `parameter_types`, `resources` and `stream` are JSON text; only streams have the last one.
    """

    workflow_instance_id: WorkflowInstanceId
    attempt: TaskAttempt
    name: str
    type: str
    write_ahead: bool
    worker_group: str
    workflow_priority: Priority
    task_priority: Priority
    params: str
    timeout_s: float | None = None
    timeout_strategy: TimeoutStrategy | None = None
    cache_key: str | None = None
    dry_run: bool = False
    environment: str | None = None
    tenant: str | None = None
    parameter_types: str | None = None
    dispatch_timeout_s: float | None = None
    resources: str | None = None
    stream: str | None = None


# The join admits only the owner's tasks; the unique key on (instance, task, attempt) is a second protection. It checks
# the state and not `ended_at`, so that each run is looked up by its primary key: the index of runs that a master owns
# would return all of them, and there are no statistics about a master that just started.
_QUEUE = Sql("""
    INSERT INTO task_instance (
        workflow_instance_id, task_code, attempt, task_name, task_type, state, worker_group,
        workflow_priority, task_priority, params, parameter_values,
        wait_reason, timeout_strategy, reason, outputs, branch, cache_key,
        environment, tenant, parameter_types, resources, stream, write_ahead,
        dry_run, timeout_s, dispatch_timeout_s, retries,
        due_at,
        started_at,
        ended_at,
        is_plain,
        dispatch_by
    )
    SELECT n.workflow_instance_id, n.task_code, n.attempt, n.task_name, n.task_type, n.state, n.worker_group,
           n.workflow_priority::priority_level, n.task_priority::priority_level, n.params, n.parameter_values,
           n.wait_reason, n.timeout_strategy, nullif(n.reason, ''), n.outputs, n.branch, n.cache_key,
           n.environment, n.tenant, n.parameter_types, n.resources::jsonb, n.stream::jsonb, n.write_ahead,
           n.dry_run, n.timeout_s, n.dispatch_timeout_s, n.retries,
           CASE WHEN n.state = 'DELAY_EXECUTION' OR (n.task_type = 'APPROVAL' AND n.due_in_minutes > 0)
                THEN clock_timestamp() + n.due_in_minutes * interval '1 minute' END,
           CASE WHEN n.state NOT IN ('QUEUED', 'DELAY_EXECUTION') THEN clock_timestamp() END,
           CASE WHEN n.state NOT IN ('QUEUED', 'DELAY_EXECUTION', 'RUNNING_EXECUTION') THEN clock_timestamp() END,
           n.resources IS NULL AND n.stream IS NULL,
           CASE WHEN n.state = 'QUEUED' THEN clock_timestamp() + n.dispatch_timeout_s * interval '1 s' END
    FROM unnest(
        CAST(:workflow_instance_id AS bigint[]), CAST(:attempt.code AS bigint[]), CAST(:attempt.attempt AS integer[]),
        CAST(:name AS text[]), CAST(:type AS text[]), CAST(:attempt.state AS text[]), CAST(:worker_group AS text[]),
        CAST(:workflow_priority AS text[]), CAST(:task_priority AS text[]),
        CAST(:params AS text[]), CAST(:attempt.values AS text[]),
        CAST(:attempt.wait_reason AS text[]), CAST(:timeout_strategy AS text[]), CAST(:attempt.reason AS text[]),
        CAST(:attempt.outputs AS text[]), CAST(:branch AS text[]), CAST(:cache_key AS text[]),
        CAST(:environment AS text[]), CAST(:tenant AS text[]), CAST(:parameter_types AS text[]),
        CAST(:resources AS text[]), CAST(:stream AS text[]),
        CAST(:write_ahead AS boolean[]), CAST(:dry_run AS boolean[]),
        CAST(:attempt.due_in_minutes AS double precision[]), CAST(:timeout_s AS double precision[]),
        CAST(:dispatch_timeout_s AS double precision[]), CAST(:attempt.retries AS smallint[])
    ) WITH ORDINALITY AS n (
        workflow_instance_id, task_code, attempt, task_name, task_type, state, worker_group,
        workflow_priority, task_priority, params, parameter_values,
        wait_reason, timeout_strategy, reason, outputs, branch, cache_key,
        environment, tenant, parameter_types, resources, stream, write_ahead,
        dry_run, due_in_minutes, timeout_s, dispatch_timeout_s, retries, place
    )
    JOIN workflow_instance i ON i.id = n.workflow_instance_id
                            AND coalesce(i.master_id = :master
                                         AND i.state IN ('RUNNING_EXECUTION', 'READY_PAUSE', 'READY_STOP'), false)
    ORDER BY n.place  -- ids decide between equal priorities, and a hash join would return its rows in any order
""")
_TASKS = RowArrays(
    _QUEUE, {"branch": lambda new: None if new.attempt.branch is None else json.dumps(sorted(new.attempt.branch))}
)
# A task with a cached result ends without being queued; its owner is notified as of any other end. The other tasks of
# the same call are queued by the statement above, which has the same join.
_REUSE = Sql("""
    WITH added AS (
        INSERT INTO task_instance (
            workflow_instance_id, task_code, attempt, task_name, task_type, state, worker_group,
            workflow_priority, task_priority, params, parameter_values,
            wait_reason, timeout_strategy, reason, outputs, branch, cache_key,
            environment, tenant, parameter_types, resources, stream, write_ahead,
            dry_run, timeout_s, dispatch_timeout_s, retries,
            due_at, started_at, ended_at, is_plain, dispatch_by
        )
        SELECT n.workflow_instance_id, n.task_code, n.attempt, n.task_name, n.task_type, 'SUCCESS', n.worker_group,
               n.workflow_priority::priority_level, n.task_priority::priority_level, n.params, n.parameter_values,
               NULL, n.timeout_strategy, 'the outputs of an earlier success were used', c.outputs, NULL, n.cache_key,
               n.environment, n.tenant, n.parameter_types, n.resources::jsonb, n.stream::jsonb, n.write_ahead,
               n.dry_run, n.timeout_s, n.dispatch_timeout_s, n.retries,
               NULL, clock_timestamp(), clock_timestamp(), n.resources IS NULL AND n.stream IS NULL, NULL
        FROM unnest(
            CAST(:workflow_instance_id AS bigint[]), CAST(:attempt.code AS bigint[]),
            CAST(:attempt.attempt AS integer[]), CAST(:name AS text[]), CAST(:type AS text[]),
            CAST(:attempt.state AS text[]), CAST(:worker_group AS text[]),
            CAST(:workflow_priority AS text[]), CAST(:task_priority AS text[]),
            CAST(:params AS text[]), CAST(:attempt.values AS text[]),
            CAST(:attempt.wait_reason AS text[]), CAST(:timeout_strategy AS text[]), CAST(:attempt.reason AS text[]),
            CAST(:attempt.outputs AS text[]), CAST(:branch AS text[]), CAST(:cache_key AS text[]),
            CAST(:environment AS text[]), CAST(:tenant AS text[]), CAST(:parameter_types AS text[]),
            CAST(:resources AS text[]), CAST(:stream AS text[]),
            CAST(:write_ahead AS boolean[]), CAST(:dry_run AS boolean[]),
            CAST(:attempt.due_in_minutes AS double precision[]), CAST(:timeout_s AS double precision[]),
            CAST(:dispatch_timeout_s AS double precision[]), CAST(:attempt.retries AS smallint[])
        ) AS n (
            workflow_instance_id, task_code, attempt, task_name, task_type, state, worker_group,
            workflow_priority, task_priority, params, parameter_values,
            wait_reason, timeout_strategy, reason, outputs, branch, cache_key,
            environment, tenant, parameter_types, resources, stream, write_ahead,
            dry_run, due_in_minutes, timeout_s, dispatch_timeout_s, retries
        )
        JOIN workflow_instance i ON i.id = n.workflow_instance_id
                                AND coalesce(i.master_id = :master
                                             AND i.state IN ('RUNNING_EXECUTION', 'READY_PAUSE', 'READY_STOP'), false)
        JOIN task_cache c ON c.key = n.cache_key
                         AND (c.of_run IS NULL OR EXISTS (SELECT FROM workflow_instance WHERE id = c.of_run))
        RETURNING workflow_instance_id, task_code, attempt, state, outputs
    ), reported AS (
        INSERT INTO task_event (workflow_instance_id, task_code, attempt, state, outputs) SELECT * FROM added
    )
    SELECT workflow_instance_id, task_code FROM added
""")
_DRIVEN_BY = Sql("""
    SELECT id FROM workflow_instance
    WHERE id = ANY(CAST(:instances AS bigint[]))
      AND coalesce(master_id = :master AND state IN ('RUNNING_EXECUTION', 'READY_PAUSE', 'READY_STOP'), false)
""")
# All open attempts are locked first, so that none changes between the two statements that follow: an attempt queued
# again after its worker was lost would be missed by both. If a worker is just claiming one, this waits and then sees it
# as running.
_HOLD_OPEN = Sql("""
    SELECT FROM task_instance
    WHERE workflow_instance_id = ANY(CAST(:instances AS bigint[]))                  -- index: task_instance_attempt
      AND coalesce(state IN ('QUEUED', 'DELAY_EXECUTION', 'DISPATCH', 'RUNNING_EXECUTION'), false)
    ORDER BY id FOR NO KEY UPDATE
""")
# A DEPENDENT or APPROVAL task waits in the master, and ends as soon as a halt is requested. A task with children ends
# when they end, unless nobody drives its run now.
_HALT = Sql("""
    UPDATE task_instance t
    SET state = h.state, ended_at = clock_timestamp(), reason = h.reason
    FROM unnest(CAST(:instances AS bigint[]), CAST(:states AS text[]), CAST(:reasons AS text[]),
                CAST(:abandoned AS boolean[])) AS h (instance_id, state, reason, abandoned)
    JOIN workflow_instance i ON i.id = h.instance_id AND coalesce(i.master_id = :master, false)
    WHERE t.workflow_instance_id = h.instance_id
      AND coalesce(t.state IN ('QUEUED', 'DELAY_EXECUTION')
                   OR (t.state = 'RUNNING_EXECUTION' AND t.worker_id IS NULL
                       AND (t.task_type IN ('DEPENDENT', 'APPROVAL') OR h.abandoned)), false)
    RETURNING t.workflow_instance_id, t.task_code, t.attempt, t.state
""")
_END_IN_MASTER = Sql("""
    UPDATE task_instance t
    SET state = n.state, ended_at = clock_timestamp(), reason = nullif(n.reason, ''), outputs = n.outputs
    FROM unnest(CAST(:0 AS bigint[]), CAST(:1.code AS bigint[]), CAST(:1.attempt AS integer[]),
                CAST(:1.state AS text[]), CAST(:1.reason AS text[]), CAST(:1.outputs AS text[]))
         AS n (workflow_instance_id, task_code, attempt, state, reason, outputs)
    JOIN workflow_instance i ON i.id = n.workflow_instance_id AND coalesce(i.master_id = :master, false)
    WHERE t.workflow_instance_id = n.workflow_instance_id AND t.task_code = n.task_code AND t.attempt = n.attempt
      AND coalesce(t.state = 'RUNNING_EXECUTION' AND t.worker_id IS NULL, false)
    RETURNING t.workflow_instance_id, t.task_code
""")
_ENDS = RowArrays(_END_IN_MASTER)


async def queue(connection: FencedTransaction, tasks: Sequence[NewTask], master: Epoch) -> int:
    """Queue attempts, or record them. Returns how many ended at once because their result was cached.

    Raises `OwnershipLost` when a run is not (or no longer) this master's.
    """
    await changed(connection, Changes(tasks={task.workflow_instance_id for task in tasks}))
    known = 0
    cached = [task for task in tasks if task.cache_key is not None]
    if cached:
        rows = (await connection.execute(_REUSE, {**_TASKS.values(cached), "master": master})).all()
        reused = set(map(tuple, rows))
        known = len(reused)
        tasks = [task for task in tasks if (task.workflow_instance_id, task.attempt.code) not in reused]
    if tasks:
        done = await connection.execute(_QUEUE, {**_TASKS.values(tasks), "master": master})
        if done.rowcount != len(tasks):
            raise await _not_queued(connection, tasks, master)
    return known


async def _not_queued(connection: FencedTransaction, tasks: Sequence[NewTask], master: Epoch) -> OwnershipLost:
    """The runs that the statement missed. All of them if they are correct by now: each is then tried alone."""
    wanted = {task.workflow_instance_id for task in tasks}
    values = {"instances": list(wanted), "master": master}
    driven = {id_ for (id_,) in await connection.execute(_DRIVEN_BY, values)}
    missed = wanted - driven or wanted
    return OwnershipLost(missed, f"tasks of runs {named(missed)} cannot begin: master {master} does not drive them")


async def halt(
    connection: FencedTransaction,
    halts: Mapping[WorkflowInstanceId, tuple[TaskState, str]],
    abandoned: Collection[WorkflowInstanceId],
    master: Epoch,
) -> list[tuple[WorkflowInstanceId, AttemptEnd]]:
    """End what waits or is queued of own runs as PAUSE or KILL, with the reason; returns those ends.

    For runs in `abandoned` this includes what runs in the master: nothing else will end that. Their open attempts stay
    locked until the transaction ends, except for `ask_kill`, which must follow if running attempts are to end.
    """
    await changed(connection, Changes(tasks=set(halts)))
    await connection.execute(_HOLD_OPEN, {"instances": list(halts)})
    values = {
        "instances": list(halts),
        "states": [state for state, _ in halts.values()],
        "reasons": [reason for _, reason in halts.values()],
        "abandoned": [id_ in abandoned for id_ in halts],
        "master": master,
    }
    return [
        (WorkflowInstanceId(instance), AttemptEnd(TaskCode(code), attempt, TaskState(state)))
        for instance, code, attempt, state in (await connection.execute(_HALT, values)).all()
    ]


@statement("""
    UPDATE task_instance t SET kill_requested = true
    FROM workflow_instance i
    WHERE t.workflow_instance_id = ANY(CAST(:instances AS bigint[])) AND t.state IN ('DISPATCH', 'RUNNING_EXECUTION')
      AND NOT t.kill_requested AND i.id = t.workflow_instance_id AND i.master_id = :master
""")
async def ask_kill(connection: FencedTransaction, instances: Sequence[WorkflowInstanceId], master: Epoch) -> None:
    """Ask the workers to kill the running attempts of own runs, after `halt`.

    A task with children is marked too: requested children that have not begun yet never begin.
    """


@statement("""
    UPDATE task_instance t SET handover = 'its run is paused'
    FROM workflow_instance i
    WHERE t.workflow_instance_id = ANY(CAST(:instances AS bigint[])) AND t.state IN ('DISPATCH', 'RUNNING_EXECUTION')
      AND t.stream IS NOT NULL AND t.handover IS NULL AND NOT t.kill_requested
      AND i.id = t.workflow_instance_id AND i.master_id = :master
""")
async def hand_over_streams(
    connection: FencedTransaction, instances: Sequence[WorkflowInstanceId], master: Epoch
) -> None:
    """Ask the workers to end the running streams of own runs as PAUSE, after `halt`."""


async def end_in_master(
    connection: FencedTransaction, ends: Sequence[tuple[WorkflowInstanceId, AttemptEnd]], master: Epoch
) -> None:
    """Write the ends of attempts that run in their master. Raises `OwnershipLost`."""
    await changed(connection, Changes(tasks={id_ for id_, _ in ends}))
    rows = await connection.execute(_END_IN_MASTER, {**_ENDS.values(ends), "master": master})
    ended = {tuple(row) for row in rows.all()}
    if missed := {id_ for id_, end in ends if (id_, end.code) not in ended}:
        raise OwnershipLost(missed, f"tasks of runs {named(missed)} do not run in master {master} as it believes")


@changing(lambda tasks: Changes(tasks={run for run, _ in tasks}))
@statement("""
    UPDATE task_instance t SET flag = 'NO'
    FROM unnest(CAST(:tasks.0 AS bigint[]), CAST(:tasks.1 AS bigint[])) AS a (instance_id, code)
    WHERE t.workflow_instance_id = a.instance_id AND t.task_code = a.code AND coalesce(t.flag = 'YES', false)
""")
async def invalidate(connection: FencedTransaction, tasks: Sequence[tuple[WorkflowInstanceId, TaskCode]]) -> None:
    """Mark all attempts of these tasks as no longer valid, so that the tasks run again."""


# Only those: after any other end a task that runs again has all its retries (`WorkflowRunnable._restore`).
@statement("""
    UPDATE task_instance SET retries = 0
    WHERE workflow_instance_id = :run AND task_code = ANY(CAST(:codes AS bigint[])) AND retries > 0
      AND coalesce(state IN ('PAUSE', 'KILL'), false)
""")
async def reset_retries(connection: FencedTransaction, run: WorkflowInstanceId, codes: Sequence[TaskCode]) -> None:
    """These tasks of a run, which are run again from the start, have all their retries again, also where they were
    paused or stopped between two of them."""
