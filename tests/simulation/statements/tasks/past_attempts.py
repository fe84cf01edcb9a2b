"""`dao/tasks/past_attempts.py` on rows in memory."""

from __future__ import annotations

import json
from collections.abc import Sequence

from model.ids import TaskCode, WorkflowInstanceId
from model.runs.instances import TaskAttempt
from model.runs.states import TaskState
from tests.simulation.tables import Transaction, Values


def latest_attempts(
    tx: Transaction, instances: Sequence[WorkflowInstanceId]
) -> dict[WorkflowInstanceId, list[TaskAttempt]]:
    found: dict[WorkflowInstanceId, list[TaskAttempt]] = {}
    for id_ in instances:
        latest: dict[TaskCode, Values] = {}
        for _, task in tx.of_key(tx.server.tasks, id_):
            if task.task_code not in latest or latest[task.task_code].attempt < task.attempt:
                latest[task.task_code] = task
        ordered = sorted(latest.values(), key=lambda each: (each.ended_s is None, each.ended_s or 0, each.task_code))
        found[id_] = [
            TaskAttempt(
                task.task_code,
                task.attempt,
                task.state,
                task.retries,
                task.flag,
                task.outputs,
                None if task.branch is None else frozenset(map(TaskCode, json.loads(task.branch))),
                task.parameter_values if task.task_code < 0 or _is_in_master(task) else "{}",
                max(0, round((task.due_s - tx.server.now_s) / 60)) if task.state is TaskState.DELAY_EXECUTION else 0,
                ran_s=ran_s(task),
            )
            for task in ordered
        ]
    return found


def _is_in_master(task: Values) -> bool:
    return task.state is TaskState.RUNNING_EXECUTION and task.worker_id is None


def ran_s(task: Values) -> float:
    """The duration of an ended stream."""
    if task.stream is None or task.ended_s is None or task.started_s is None:
        return 0
    return float(task.ended_s - task.started_s)
