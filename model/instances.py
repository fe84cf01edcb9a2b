"""Workflow instances and task attempts as values: the input of a runnable, and the content of the tables."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from model.choices import FailureStrategy, Priority
from model.ids import TaskCode, WorkflowCode, WorkflowInstanceId
from model.states import TaskState, WorkflowState


@dataclass(frozen=True, slots=True)
class Parent:
    """The task attempt that represents a sub-workflow, and the index (from 0) of this child among its children."""

    instance: WorkflowInstanceId
    code: TaskCode
    attempt: int
    index: int

    def __str__(self) -> str:
        return f"{self.instance}/{self.code}/{self.attempt}/{self.index}"


@dataclass(frozen=True, slots=True)
class WorkflowInstance:
    """One run of one version of a workflow, as its owner knows it.

    `params` is a JSON object as text: project, global and startup parameters, resolved; `startup_names` a JSON list of
    those that nothing overrides. `schedule_time` is aware UTC. `scope` limits it to some tasks; None = all.
    """

    id: WorkflowInstanceId
    workflow_code: WorkflowCode
    workflow_version: int
    failure_strategy: FailureStrategy
    priority: Priority
    worker_group: str
    params: str
    state: WorkflowState = WorkflowState.RUNNING_EXECUTION
    requested_state: WorkflowState | None = None
    startup_names: str = "[]"
    schedule_time: datetime | None = None
    time_zone: str = "UTC"
    dry_run: bool = False
    environment: str | None = None
    scope: frozenset[TaskCode] | None = None
    depth: int = 0
    parent: Parent | None = None
    ran_s: float = 0.0
    """Seconds since it began to run, or was last resumed by a command, when its row was read."""


@dataclass(frozen=True, slots=True)
class TaskAttempt:
    """The latest attempt of a task: its number (from 1), its state, and its number of retries.

    If it is not `valid`, only its number is used: the task is to run again. `outputs` is a JSON object as text or None,
    `branch` the tasks that it chose if its type chooses a branch. `values` is a JSON object: the value of each
    `${name}` when the attempt began, if it runs in its master. `due_in_minutes` is the rest of a timed wait, rounded;
    0 = it does not wait.
    """

    code: TaskCode
    attempt: int
    state: TaskState
    retries: int = 0
    valid: bool = True
    outputs: str | None = None
    branch: frozenset[TaskCode] | None = None
    values: str = "{}"
    due_in_minutes: int = 0


@dataclass(frozen=True, slots=True)
class TaskEnd:
    """The end of an attempt, as `task_event` records it."""

    workflow_instance_id: WorkflowInstanceId
    code: TaskCode
    attempt: int
    state: TaskState
    outputs: str | None = None


@dataclass(frozen=True, slots=True)
class ChildEnd:
    """The end of a child of an attempt, as `task_event` records it. `outputs` are its outputs, or why it failed."""

    workflow_instance_id: WorkflowInstanceId
    code: TaskCode
    attempt: int
    index: int
    state: WorkflowState
    outputs: str | None = None


@dataclass(frozen=True, slots=True)
class HaltAsked:
    """A request to pause or stop an instance, as `task_event` records it: READY_PAUSE or READY_STOP."""

    workflow_instance_id: WorkflowInstanceId
    state: WorkflowState
