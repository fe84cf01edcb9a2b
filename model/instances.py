"""Workflow instances and task attempts as values: what a runnable is made from and what the tables give back."""

from __future__ import annotations

from dataclasses import dataclass

from model.ids import TaskCode, WorkflowCode, WorkflowInstanceId
from model.states import TaskState
from model.workflow import FailureStrategy, Priority


@dataclass(frozen=True, slots=True)
class WorkflowInstance:
    """One run of one version of a workflow, as its owner knows it; `params` is a JSON object as text."""

    id: WorkflowInstanceId
    workflow_code: WorkflowCode
    workflow_version: int
    failure_strategy: FailureStrategy
    priority: Priority
    worker_group: str
    params: str


@dataclass(frozen=True, slots=True)
class TaskAttempt:
    """The latest attempt of a task: its number (from 1), where it stands, and how many retries it stands for."""

    code: TaskCode
    attempt: int
    state: TaskState
    retries: int = 0


@dataclass(frozen=True, slots=True)
class TaskEnd:
    """The end of an attempt, as `task_event` tells it."""

    workflow_instance_id: WorkflowInstanceId
    code: TaskCode
    attempt: int
    state: TaskState
