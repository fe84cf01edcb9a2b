"""`task_instance` as its master writes it: queued, stopped, read again after a failover.

Attempts that return to the queue are handled by `dao/tasks/requeue.py`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Row, text
from sqlalchemy.ext.asyncio import AsyncConnection

from dao.cluster.lost_owners import GONE_WORKERS
from dao.postgres.database import FencedTransaction
from dao.postgres.notify import EVENT, notify
from dao.runs.code_lists import read_codes
from dao.runs.workflow_instances import OwnershipLost, named
from dao.tasks.requeue import put_back
from model.choices import Priority, TimeoutStrategy
from model.ids import Epoch, TaskCode, TaskInstanceId, WorkflowInstanceId
from model.instances import TaskAttempt, TaskEnd
from model.states import TaskState, WaitReason

ROWS_AT_ONCE = 1_000
"""How many rows are read before other coroutines get a turn."""


@dataclass(frozen=True, slots=True)
class NewTask:
    """An attempt to put into the workers' queue, at once or after a wait, or to be recorded in another state.

    `params`, `parameter_values`, `parameter_types`, `outputs` and `branch` are JSON text. `retries` is the number of
    retries after failures. One in RUNNING_EXECUTION runs in its master; one that is already over runs nowhere.
    """

    workflow_instance_id: WorkflowInstanceId
    code: TaskCode
    attempt: int
    name: str
    type: str
    write_ahead: bool
    worker_group: str
    workflow_priority: Priority
    task_priority: Priority
    params: str
    parameter_values: str
    retries: int = 0
    wait_reason: WaitReason | None = None
    wait_minutes: float = 0
    timeout_s: float | None = None
    timeout_strategy: TimeoutStrategy | None = None
    state: TaskState = TaskState.QUEUED
    reason: str = ""
    outputs: str | None = None
    branch: str | None = None
    cache_key: str | None = None
    dry_run: bool = False
    environment: str | None = None
    tenant: str | None = None
    parameter_types: str | None = None
    dispatch_timeout_s: float | None = None


@dataclass(frozen=True, slots=True)
class MasterTaskEnd:
    """The end of an attempt that runs in its master; `outputs` is JSON text."""

    workflow_instance_id: WorkflowInstanceId
    code: TaskCode
    attempt: int
    state: TaskState
    reason: str
    outputs: str | None


# The join admits only the owner's tasks; the unique key on (instance, task, attempt) is a second protection. It checks
# the state and not `ended_at`, so that each run is looked up by its primary key: the index of runs that a master owns
# would return all of them, and there are no statistics about a master that just started.
_COLUMNS = """workflow_instance_id, task_code, attempt, task_name, task_type, state, write_ahead, worker_group,
              workflow_priority, task_priority, params, parameter_values, retries, wait_reason, due_at, timeout_s,
              timeout_strategy, started_at, ended_at, reason, outputs, branch, cache_key, dry_run, environment, tenant,
              parameter_types, dispatch_timeout_s, dispatch_by"""
_NEW = """
    FROM unnest(CAST(:instances AS bigint[]), CAST(:codes AS integer[]), CAST(:attempts AS smallint[]),
                CAST(:names AS text[]), CAST(:types AS text[]), CAST(:write_aheads AS boolean[]),
                CAST(:worker_groups AS text[]), CAST(:workflow_priorities AS text[]),
                CAST(:task_priorities AS text[]), CAST(:params AS text[]), CAST(:parameter_values AS text[]),
                CAST(:retries AS smallint[]), CAST(:wait_reasons AS text[]),
                CAST(:wait_minutes AS double precision[]), CAST(:timeouts AS double precision[]),
                CAST(:timeout_strategies AS text[]), CAST(:states AS text[]), CAST(:reasons AS text[]),
                CAST(:outputs AS text[]), CAST(:branches AS text[]), CAST(:cache_keys AS text[]),
                CAST(:dry_runs AS boolean[]), CAST(:environments AS text[]), CAST(:tenants AS text[]),
                CAST(:parameter_types AS text[]), CAST(:dispatch_timeouts AS double precision[]))
         AS n (instance_id, code, attempt, name, type, write_ahead, worker_group, workflow_priority, task_priority,
               params, parameter_values, retries, wait_reason, wait_minutes, timeout_s, timeout_strategy, state,
               reason, outputs, branch, cache_key, dry_run, environment, tenant, parameter_types, dispatch_timeout_s)
    JOIN workflow_instance i ON i.id = n.instance_id
                            AND coalesce(i.master_id = :master
                                         AND i.state IN ('RUNNING_EXECUTION', 'READY_PAUSE', 'READY_STOP'), false)
"""
_QUEUE = text(f"""
    INSERT INTO task_instance ({_COLUMNS})
    SELECT n.instance_id, n.code, n.attempt, n.name, n.type,
           CASE WHEN n.wait_reason IS NULL THEN n.state ELSE 'DELAY_EXECUTION' END, n.write_ahead, n.worker_group,
           n.workflow_priority::priority_level, n.task_priority::priority_level, n.params, n.parameter_values,
           n.retries, n.wait_reason,
           CASE WHEN n.wait_reason IS NOT NULL THEN clock_timestamp() + n.wait_minutes * interval '1 minute' END,
           n.timeout_s, n.timeout_strategy, CASE WHEN n.state <> 'QUEUED' THEN clock_timestamp() END,
           CASE WHEN n.state NOT IN ('QUEUED', 'RUNNING_EXECUTION') THEN clock_timestamp() END, nullif(n.reason, ''),
           n.outputs, n.branch, n.cache_key, n.dry_run, n.environment, n.tenant, n.parameter_types,
           n.dispatch_timeout_s,
           CASE WHEN n.wait_reason IS NULL AND n.state = 'QUEUED'
                THEN clock_timestamp() + n.dispatch_timeout_s * interval '1 s' END
    {_NEW}
""")
_DRIVEN_BY = text("""
    SELECT id FROM workflow_instance
    WHERE id = ANY(CAST(:instances AS bigint[]))
      AND coalesce(master_id = :master AND state IN ('RUNNING_EXECUTION', 'READY_PAUSE', 'READY_STOP'), false)
""")
# A task with a cached result ends without being queued; its owner is notified as of any other end. The other tasks of
# the same call are queued by the statement above.
_REUSE = text(f"""
    WITH added AS (
        INSERT INTO task_instance ({_COLUMNS})
        SELECT n.instance_id, n.code, n.attempt, n.name, n.type, 'SUCCESS', n.write_ahead, n.worker_group,
               n.workflow_priority::priority_level, n.task_priority::priority_level, n.params, n.parameter_values,
               n.retries, NULL, NULL, n.timeout_s, n.timeout_strategy, clock_timestamp(), clock_timestamp(),
               'the outputs of an earlier success were used', c.outputs, NULL, n.cache_key, n.dry_run, n.environment,
               n.tenant, n.parameter_types, n.dispatch_timeout_s, NULL
        {_NEW}
        JOIN task_cache c ON c.key = n.cache_key
        RETURNING workflow_instance_id, task_code, attempt, state, outputs
    ), told AS (
        INSERT INTO task_event (workflow_instance_id, task_code, attempt, state, outputs) SELECT * FROM added
    )
    SELECT workflow_instance_id, task_code FROM added
""")  # noqa: S608 - the parts are constants of this module
# All open attempts are locked first, so that none changes between the two statements that follow: an attempt queued
# again after its worker was lost would be missed by both. If a worker is just claiming one, this waits and then sees it
# as running.
_HOLD_OPEN = text("""
    SELECT FROM task_instance
    WHERE workflow_instance_id = ANY(CAST(:instances AS bigint[]))                  -- index: task_instance_attempt
      AND coalesce(state IN ('QUEUED', 'DELAY_EXECUTION', 'DISPATCH', 'RUNNING_EXECUTION'), false)
    ORDER BY id FOR NO KEY UPDATE
""")
# A DEPENDENT task waits in the master, and ends as soon as a halt is requested. A task with children ends when they
# end, unless nobody drives its run any more.
_HALT = text("""
    UPDATE task_instance t
    SET state = h.state, ended_at = clock_timestamp(), reason = h.reason
    FROM unnest(CAST(:instances AS bigint[]), CAST(:states AS text[]), CAST(:reasons AS text[]),
                CAST(:given_up AS boolean[])) AS h (instance_id, state, reason, given_up)
    JOIN workflow_instance i ON i.id = h.instance_id AND coalesce(i.master_id = :master, false)
    WHERE t.workflow_instance_id = h.instance_id
      AND coalesce(t.state IN ('QUEUED', 'DELAY_EXECUTION')
                   OR (t.state = 'RUNNING_EXECUTION' AND t.worker_id IS NULL
                       AND (t.task_type = 'DEPENDENT' OR h.given_up)), false)
    RETURNING t.workflow_instance_id, t.task_code, t.attempt, t.state
""")
_ASK_KILL = text("""
    UPDATE task_instance t SET kill_requested = true
    FROM workflow_instance i
    WHERE t.workflow_instance_id = ANY(CAST(:instances AS bigint[])) AND t.state IN ('DISPATCH', 'RUNNING_EXECUTION')
      AND NOT t.kill_requested AND i.id = t.workflow_instance_id AND i.master_id = :master
""")
_END_IN_MASTER = text("""
    UPDATE task_instance t
    SET state = e.state, ended_at = clock_timestamp(), reason = nullif(e.reason, ''), outputs = e.outputs
    FROM unnest(CAST(:instances AS bigint[]), CAST(:codes AS integer[]), CAST(:attempts AS smallint[]),
                CAST(:states AS text[]), CAST(:reasons AS text[]), CAST(:outputs AS text[]))
         AS e (instance_id, code, attempt, state, reason, outputs)
    JOIN workflow_instance i ON i.id = e.instance_id AND coalesce(i.master_id = :master, false)
    WHERE t.workflow_instance_id = e.instance_id AND t.task_code = e.code AND t.attempt = e.attempt
      AND coalesce(t.state = 'RUNNING_EXECUTION' AND t.worker_id IS NULL, false)
    RETURNING t.workflow_instance_id, t.task_code
""")
_INVALIDATE = text("""
    UPDATE task_instance t SET flag = 'NO'
    FROM unnest(CAST(:instances AS bigint[]), CAST(:codes AS integer[])) AS a (instance_id, code)
    WHERE t.workflow_instance_id = a.instance_id AND t.task_code = a.code AND coalesce(t.flag = 'YES', false)
""")
_LATEST = text("""
    SELECT latest.* FROM unnest(CAST(:instances AS bigint[])) AS wanted (id)
    CROSS JOIN LATERAL (
        SELECT DISTINCT ON (task_code) workflow_instance_id, task_code, attempt, state, retries, flag, outputs, branch,
               ended_at,
               CASE WHEN state = 'RUNNING_EXECUTION' AND worker_id IS NULL THEN parameter_values ELSE '{}' END
                   AS parameter_values,
               CASE WHEN state = 'DELAY_EXECUTION' AND isfinite(due_at)
                    THEN least(greatest(extract(epoch FROM due_at - clock_timestamp()) / 60, 0), 1e6)::integer
                    ELSE 0 END AS due_in_minutes
        FROM task_instance
        WHERE workflow_instance_id = wanted.id                                  -- index: task_instance_attempt
        ORDER BY task_code DESC, attempt DESC                                   -- both, so that it is read backwards
    ) AS latest
    ORDER BY latest.ended_at, latest.task_code
""")
# Level-triggered, by any master: timers are rows, whichever run they belong to.
_HOLD_DUE = text("""
    SELECT id FROM task_instance
    WHERE state = 'DELAY_EXECUTION' AND due_at <= now()                             -- index: task_instance_due
    ORDER BY due_at LIMIT :limit FOR UPDATE SKIP LOCKED
""")
_NEXT_DUE = text("""
    SELECT extract(epoch FROM least(
        (SELECT min(due_at) FROM task_instance                                     -- index: task_instance_due
         WHERE state = 'DELAY_EXECUTION' AND due_at > now()),
        (SELECT min(dispatch_by) FROM task_instance                                -- index: task_instance_undispatched
         WHERE state = 'QUEUED' AND dispatch_by > now()),
        '9999-01-01') - now())::float8
""")
# Level-triggered, by any master. The row is locked, so a concurrent claim and this statement see each other's result.
_FAIL_UNDISPATCHED = text("""
    WITH late AS (
        SELECT id FROM task_instance
        WHERE state = 'QUEUED' AND dispatch_by <= now()                            -- index: task_instance_undispatched
        ORDER BY dispatch_by LIMIT :limit FOR UPDATE SKIP LOCKED
    ), failed AS (
        UPDATE task_instance t
        SET state = 'FAILURE', ended_at = clock_timestamp(),
            reason = format('no worker of group %s took it within its dispatch_timeout of %s min; start one there, '
                            'or give it more time', t.worker_group,
                            trim_scale(round((t.dispatch_timeout_s / 60)::numeric, 3)))
        FROM late WHERE t.id = late.id
        RETURNING t.workflow_instance_id, t.task_code, t.attempt, t.state
    ), told AS (
        INSERT INTO task_event (workflow_instance_id, task_code, attempt, state) SELECT * FROM failed
    )
    SELECT (SELECT master_id FROM workflow_instance i WHERE i.id = f.workflow_instance_id) AS owner FROM failed f
""")
# Level-triggered, by any master: tasks of a worker that is gone, or never existed. One in DISPATCH was certainly not
# started.
_HOLD_LOST = text(f"""
    WITH RECURSIVE {GONE_WORKERS}
    SELECT t.id, t.state = 'DISPATCH' AS unstarted FROM gone_worker g
    JOIN task_instance t ON t.worker_id = g.id AND t.state IN ('DISPATCH', 'RUNNING_EXECUTION')
    WHERE t.id <> ALL(CAST(:aside AS bigint[]))                                 -- index: task_instance_running
      AND (CAST(:only AS bigint) IS NULL OR t.id = CAST(:only AS bigint))
    LIMIT :limit FOR UPDATE OF t SKIP LOCKED   -- ORDER BY could make it walk all history by primary key
""")  # noqa: S608 - the parts are constants
# The event reaches the master that owns the run.
_LOSE = text("""
    WITH marked AS (
        UPDATE task_instance
        SET state = 'NEED_FAULT_TOLERANCE', ended_at = clock_timestamp(), reason = 'its worker was lost'
        WHERE id = ANY(CAST(:ids AS bigint[]))
        RETURNING workflow_instance_id, task_code, attempt, state
    )
    INSERT INTO task_event (workflow_instance_id, task_code, attempt, state) SELECT * FROM marked
""")


async def queue(connection: FencedTransaction, tasks: Sequence[NewTask], master: Epoch) -> int:
    """Queue attempts, or record them. Returns how many ended at once because their result was cached.

    Raises `OwnershipLost` when a run is not (or no longer) this master's.
    """
    known = 0
    cached = [task for task in tasks if task.cache_key is not None]
    if cached:
        rows = (await connection.execute(_REUSE, _values(cached, master))).all()
        reused = set(map(tuple, rows))
        known = len(reused)
        tasks = [task for task in tasks if (task.workflow_instance_id, task.code) not in reused]
    if tasks:
        done = await connection.execute(_QUEUE, _values(tasks, master))
        if done.rowcount != len(tasks):
            raise await _not_queued(connection, tasks, master)
    return known


async def _not_queued(connection: FencedTransaction, tasks: Sequence[NewTask], master: Epoch) -> OwnershipLost:
    """The runs that the statement missed. All of them if they are correct by now: each is then tried alone."""
    wanted = {task.workflow_instance_id for task in tasks}
    values = {"instances": list(wanted), "master": master}
    driven = {id_ for (id_,) in (await connection.execute(_DRIVEN_BY, values)).all()}
    missed = wanted - driven or wanted
    return OwnershipLost(missed, f"tasks of runs {named(missed)} cannot begin: master {master} does not drive them")


def _values(tasks: Sequence[NewTask], master: Epoch) -> dict[str, object]:
    return {
        "master": master,
        "instances": [task.workflow_instance_id for task in tasks],
        "codes": [task.code for task in tasks],
        "attempts": [task.attempt for task in tasks],
        "names": [task.name for task in tasks],
        "types": [task.type for task in tasks],
        "write_aheads": [task.write_ahead for task in tasks],
        "worker_groups": [task.worker_group for task in tasks],
        "workflow_priorities": [task.workflow_priority for task in tasks],
        "task_priorities": [task.task_priority for task in tasks],
        "params": [task.params for task in tasks],
        "parameter_values": [task.parameter_values for task in tasks],
        "retries": [task.retries for task in tasks],
        "wait_reasons": [task.wait_reason for task in tasks],
        "wait_minutes": [float(task.wait_minutes) for task in tasks],  # psycopg takes no list of ints and floats
        "timeouts": [None if task.timeout_s is None else float(task.timeout_s) for task in tasks],
        "timeout_strategies": [task.timeout_strategy for task in tasks],
        "states": [task.state for task in tasks],
        "reasons": [task.reason for task in tasks],
        "outputs": [task.outputs for task in tasks],
        "branches": [task.branch for task in tasks],
        "cache_keys": [task.cache_key for task in tasks],
        "dry_runs": [task.dry_run for task in tasks],
        "environments": [task.environment for task in tasks],
        "tenants": [task.tenant for task in tasks],
        "parameter_types": [task.parameter_types for task in tasks],
        "dispatch_timeouts": [task.dispatch_timeout_s for task in tasks],
    }


async def halt(
    connection: FencedTransaction,
    halts: Mapping[WorkflowInstanceId, tuple[TaskState, str]],
    given_up: Collection[WorkflowInstanceId],
    master: Epoch,
) -> list[TaskEnd]:
    """End what waits or is queued of own runs as PAUSE or KILL, with the reason; returns those ends.

    For runs in `given_up` this includes what runs in the master: nothing else will end that. Their open attempts stay
    locked until the transaction ends, except for `ask_kill`, which must follow if running attempts are to end.
    """
    await connection.execute(_HOLD_OPEN, {"instances": list(halts)})
    values = {
        "instances": list(halts),
        "states": [state for state, _ in halts.values()],
        "reasons": [reason for _, reason in halts.values()],
        "given_up": [id_ in given_up for id_ in halts],
        "master": master,
    }
    return [
        TaskEnd(WorkflowInstanceId(instance), TaskCode(code), attempt, TaskState(state))
        for instance, code, attempt, state in (await connection.execute(_HALT, values)).all()
    ]


async def ask_kill(connection: FencedTransaction, instances: Sequence[WorkflowInstanceId], master: Epoch) -> None:
    """Ask the workers to kill the running attempts of own runs, after `halt`.

    A task with children is marked too: requested children that have not begun yet do not begin any more.
    """
    await connection.execute(_ASK_KILL, {"instances": list(instances), "master": master})


async def end_in_master(connection: FencedTransaction, ends: Sequence[MasterTaskEnd], master: Epoch) -> None:
    """Write the ends of attempts that run in their master. Raises `OwnershipLost`."""
    rows = await connection.execute(
        _END_IN_MASTER,
        {
            "master": master,
            "instances": [end.workflow_instance_id for end in ends],
            "codes": [end.code for end in ends],
            "attempts": [end.attempt for end in ends],
            "states": [end.state for end in ends],
            "reasons": [end.reason for end in ends],
            "outputs": [end.outputs for end in ends],
        },
    )
    ended = {tuple(row) for row in rows.all()}
    if missed := {end.workflow_instance_id for end in ends if (end.workflow_instance_id, end.code) not in ended}:
        raise OwnershipLost(missed, f"tasks of runs {named(missed)} do not run in master {master} as it believes")


async def invalidate(connection: FencedTransaction, tasks: Sequence[tuple[WorkflowInstanceId, TaskCode]]) -> None:
    """Mark all attempts of these tasks as no longer valid, so that the tasks run again."""
    values = {"instances": [instance for instance, _ in tasks], "codes": [code for _, code in tasks]}
    await connection.execute(_INVALIDATE, values)


async def latest_attempts(
    connection: AsyncConnection, instances: Sequence[WorkflowInstanceId]
) -> dict[WorkflowInstanceId, list[TaskAttempt]]:
    """The last attempt of each task that has begun, by run, in the order in which they ended."""
    found: dict[WorkflowInstanceId, list[TaskAttempt]] = {instance: [] for instance in instances}
    result = await connection.execute(_LATEST, {"instances": list(instances)})
    for rows in result.partitions(ROWS_AT_ONCE):
        await asyncio.sleep(0)  # a run may have ten thousand tasks, and other coroutines need the loop
        for row in rows:
            found[row.workflow_instance_id].append(_attempt(row))
    return found


def _attempt(row: Row[Any]) -> TaskAttempt:
    return TaskAttempt(
        TaskCode(row.task_code),
        row.attempt,
        TaskState(row.state),
        row.retries,
        row.flag == "YES",
        row.outputs,
        read_codes(row.branch, f"the branch of task {row.task_code} of workflow instance {row.workflow_instance_id}"),
        row.parameter_values,
        row.due_in_minutes,
    )


async def queue_due(connection: FencedTransaction, limit: int) -> list[str]:
    """Queue up to `limit` attempts whose wait is over, or end them if their run is halted.

    Returns the worker group of each queued one.
    """
    rows = await connection.execute(_HOLD_DUE, {"limit": limit})
    return await put_back(connection, [TaskInstanceId(id_) for (id_,) in rows.all()])


async def next_due_in_s(connection: AsyncConnection) -> float:
    """Seconds until the next attempt is due or has waited too long for a worker; very many if there is none."""
    return float((await connection.execute(_NEXT_DUE)).scalar_one())


async def fail_undispatched(connection: FencedTransaction, limit: int) -> int:
    """End up to `limit` queued attempts that no worker took in time as FAILURE; notifies owners. Returns how many."""
    rows = (await connection.execute(_FAIL_UNDISPATCHED, {"limit": limit})).all()
    if rows:
        await notify(connection, EVENT, {row.owner for row in rows if row.owner is not None})
    return len(rows)


async def mark_lost(
    connection: FencedTransaction,
    limit: int,
    *,
    aside: Sequence[TaskInstanceId] = (),
    only: TaskInstanceId | None = None,
) -> int:
    """Mark up to `limit` attempts of workers that are gone as lost, and notify their owners. Returns how many.

    Without those in `aside`, or only the attempt `only`. An attempt that was certainly not started is queued again, if
    its run continues.
    """
    rows = (await connection.execute(_HOLD_LOST, {"limit": limit, "aside": list(aside), "only": only})).all()
    started = [row.id for row in rows if not row.unstarted]
    if started:
        await connection.execute(_LOSE, {"ids": started})
    await put_back(connection, [TaskInstanceId(row.id) for row in rows if row.unstarted])
    return len(rows)


async def lost(connection: AsyncConnection, limit: int, aside: Sequence[TaskInstanceId] = ()) -> list[TaskInstanceId]:
    """The attempts that `mark_lost` would mark."""
    rows = await connection.execute(_HOLD_LOST, {"limit": limit, "aside": list(aside), "only": None})
    return [TaskInstanceId(row.id) for row in rows.all()]
