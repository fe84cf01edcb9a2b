"""`task_instance` as its master writes it: queued, stopped, read again after a failover."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

from dao.workflow_instances import OwnershipLost
from model.choices import Priority, TimeoutStrategy
from model.ids import Epoch, TaskCode, WorkflowInstanceId
from model.instances import TaskAttempt, TaskEnd
from model.states import TaskState, WaitReason


@dataclass(frozen=True, slots=True)
class NewTask:
    """An attempt to put into the workers' queue, at once or after a wait.

    `params` and `parameter_values` are JSON text. `retries` is how many failures it makes good.
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


# The join lets only the owner's tasks in; the unique key on (instance, task, attempt) stands behind it. It asks for the
# state and not for `ended_at`, so that each instance is looked up by its primary key: the index of what a master owns
# would give all of it, and a master that just started is in no statistics.
_QUEUE = text("""
    INSERT INTO task_instance (workflow_instance_id, task_code, attempt, task_name, task_type, state, write_ahead,
                               worker_group, workflow_priority, task_priority, params, parameter_values, retries,
                               wait_reason, due_at, timeout_s, timeout_strategy)
    SELECT n.instance_id, n.code, n.attempt, n.name, n.type,
           CASE WHEN n.wait_reason IS NULL THEN 'QUEUED' ELSE 'DELAY_EXECUTION' END, n.write_ahead, n.worker_group,
           n.workflow_priority::priority_level, n.task_priority::priority_level, n.params, n.parameter_values,
           n.retries, n.wait_reason,
           CASE WHEN n.wait_reason IS NOT NULL THEN clock_timestamp() + n.wait_minutes * interval '1 minute' END,
           n.timeout_s, n.timeout_strategy
    FROM unnest(CAST(:instances AS bigint[]), CAST(:codes AS integer[]), CAST(:attempts AS smallint[]),
                CAST(:names AS text[]), CAST(:types AS text[]), CAST(:write_aheads AS boolean[]),
                CAST(:worker_groups AS text[]), CAST(:workflow_priorities AS text[]), CAST(:task_priorities AS text[]),
                CAST(:params AS text[]), CAST(:parameter_values AS text[]), CAST(:retries AS smallint[]),
                CAST(:wait_reasons AS text[]), CAST(:wait_minutes AS double precision[]),
                CAST(:timeouts AS double precision[]), CAST(:timeout_strategies AS text[]))
         AS n (instance_id, code, attempt, name, type, write_ahead, worker_group, workflow_priority, task_priority,
               params, parameter_values, retries, wait_reason, wait_minutes, timeout_s, timeout_strategy)
    JOIN workflow_instance i ON i.id = n.instance_id AND i.master_id = :master
                            AND i.state = 'RUNNING_EXECUTION'
""")
# Two statements, in this order: a row that a worker is just claiming is skipped by the first, which waits for that
# claim, and then seen as running by the second, whose snapshot is younger.
_KILL_QUEUED = text("""
    UPDATE task_instance t
    SET state = 'KILL', ended_at = clock_timestamp(), reason = 'its workflow ends because another task failed'
    FROM workflow_instance i
    WHERE t.workflow_instance_id = ANY(CAST(:instances AS bigint[])) AND t.state IN ('QUEUED', 'DELAY_EXECUTION')
      AND i.id = t.workflow_instance_id AND i.master_id = :master
    RETURNING t.workflow_instance_id, t.task_code, t.attempt
""")
_ASK_KILL = text("""
    UPDATE task_instance t SET kill_requested = true
    FROM workflow_instance i
    WHERE t.workflow_instance_id = ANY(CAST(:instances AS bigint[])) AND t.state IN ('DISPATCH', 'RUNNING_EXECUTION')
      AND NOT t.kill_requested AND i.id = t.workflow_instance_id AND i.master_id = :master
""")
_LATEST = text("""
    SELECT latest.* FROM unnest(CAST(:instances AS bigint[])) AS wanted (id)
    CROSS JOIN LATERAL (
        SELECT DISTINCT ON (task_code) workflow_instance_id, task_code, attempt, state, retries FROM task_instance
        WHERE workflow_instance_id = wanted.id                                  -- index: task_instance_attempt
        ORDER BY task_code DESC, attempt DESC                                   -- both, so that it is read backwards
    ) AS latest
""")
# Level-triggered, by any master: timers are rows, whosever workflow they belong to.
_QUEUE_DUE = text("""
    WITH due AS (
        SELECT id FROM task_instance
        WHERE state = 'DELAY_EXECUTION' AND due_at <= now()                     -- index: task_instance_due
        ORDER BY due_at LIMIT :limit FOR UPDATE SKIP LOCKED
    )
    UPDATE task_instance t SET state = 'QUEUED', queued_at = clock_timestamp() FROM due WHERE t.id = due.id
    RETURNING t.worker_group
""")
# Level-triggered, by any master: tasks of a worker that is gone. The event reaches whoever owns the workflow.
_LOSE = text("""
    WITH lost AS (
        SELECT t.id, t.state = 'DISPATCH' AND NOT t.kill_requested AS unstarted FROM node n
        JOIN task_instance t ON t.worker_id = n.id AND t.state IN ('DISPATCH', 'RUNNING_EXECUTION')
        WHERE n.kind = 'WORKER' AND n.state IN ('FENCED', 'LEFT')               -- index: task_instance_running
        LIMIT :limit FOR UPDATE OF t SKIP LOCKED   -- ORDER BY could make it walk all history by primary key
    ), marked AS (
        -- DISPATCH was surely not started: it goes back into the queue as if nobody had claimed it.
        UPDATE task_instance t
        SET state = CASE WHEN lost.unstarted THEN 'QUEUED' ELSE 'NEED_FAULT_TOLERANCE' END,
            worker_id = CASE WHEN NOT lost.unstarted THEN t.worker_id END,
            ended_at = CASE WHEN NOT lost.unstarted THEN clock_timestamp() END,
            reason = CASE WHEN NOT lost.unstarted THEN 'its worker was lost' END
        FROM lost WHERE t.id = lost.id
        RETURNING t.workflow_instance_id, t.task_code, t.attempt, t.state
    ), told AS (
        INSERT INTO task_event (workflow_instance_id, task_code, attempt, state)
        SELECT workflow_instance_id, task_code, attempt, state FROM marked WHERE state = 'NEED_FAULT_TOLERANCE'
    )
    SELECT count(*) FROM marked
""")


async def queue(connection: AsyncConnection, tasks: Sequence[NewTask], master: Epoch) -> None:
    """Put attempts into the queue. Raises `OwnershipLost` when an instance is not (or no longer) this master's."""
    done = await connection.execute(
        _QUEUE,
        {
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
        },
    )
    if done.rowcount != len(tasks):
        raise OwnershipLost(f"{len(tasks) - done.rowcount} of {len(tasks)} tasks belong to instances of others")


async def kill(connection: AsyncConnection, instances: Sequence[WorkflowInstanceId], master: Epoch) -> list[TaskEnd]:
    """End what is queued of own instances, giving those ends, and ask the workers to kill what runs."""
    values = {"instances": list(instances), "master": master}
    rows = (await connection.execute(_KILL_QUEUED, values)).all()
    await connection.execute(_ASK_KILL, values)
    return [
        TaskEnd(WorkflowInstanceId(instance), TaskCode(code), attempt, TaskState.KILL)
        for instance, code, attempt in rows
    ]


async def latest_attempts(
    connection: AsyncConnection, instances: Sequence[WorkflowInstanceId]
) -> dict[WorkflowInstanceId, list[TaskAttempt]]:
    """The last attempt of each task that has begun, by instance."""
    found: dict[WorkflowInstanceId, list[TaskAttempt]] = {instance: [] for instance in instances}
    for instance, code, attempt, state, retries in (
        await connection.execute(_LATEST, {"instances": list(instances)})
    ).all():
        found[instance].append(TaskAttempt(TaskCode(code), attempt, TaskState(state), retries))
    return found


async def queue_due(connection: AsyncConnection, limit: int) -> list[str]:
    """Queue up to `limit` attempts whose wait is over; the worker group of each."""
    return [group for (group,) in (await connection.execute(_QUEUE_DUE, {"limit": limit})).all()]


async def mark_lost(connection: AsyncConnection, limit: int) -> int:
    """Mark up to `limit` tasks whose workers are gone, and tell their owners. How many there were."""
    return int((await connection.execute(_LOSE, {"limit": limit})).scalar_one())
