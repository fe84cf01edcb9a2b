"""A definition version made ready for driving: what every instance of it shares, reckoned once."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from model.choices import OnWorkerLoss, Priority, TimeoutStrategy
from model.graph import Graph
from model.ids import TaskCode, WorkflowCode
from model.workflow import WorkflowSpec


@dataclass(frozen=True, slots=True)
class PlannedTask:
    """One task of a plan; `params` is already JSON text, `worker_group` None means the instance's; times in
    minutes, 0 = none."""

    code: TaskCode
    name: str
    type: str
    params: str
    priority: Priority
    worker_group: str | None
    on_worker_loss: OnWorkerLoss
    retry_times: int
    retry_interval: float
    delay_time: float
    timeout: float
    timeout_strategy: TimeoutStrategy


@dataclass(frozen=True, slots=True)
class Plan:
    """One version of a workflow; never changes, so it is shared by all its instances and kept in a cache."""

    workflow_code: WorkflowCode
    version: int
    spec: WorkflowSpec
    graph: Graph
    tasks: Mapping[TaskCode, PlannedTask]

    @classmethod
    def of(cls, code: WorkflowCode, version: int, spec: WorkflowSpec) -> Plan:
        """Reckon it; tasks without codes (a definition inserted by SQL) are numbered in their order."""
        coded = spec.coded()
        tasks = {
            TaskCode(task.code or 0): PlannedTask(
                TaskCode(task.code or 0),
                task.name,
                task.type,
                json.dumps(task.params, ensure_ascii=False),
                task.priority,
                task.worker_group,
                task.on_worker_loss,
                task.retry_times,
                task.retry_interval,
                task.delay_time,
                task.timeout,
                task.timeout_strategy,
            )
            for task in coded.tasks
        }
        return cls(code, version, coded, coded.graph(), tasks)
