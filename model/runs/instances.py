"""Workflow instances and task attempts as values: the input of a runnable, and the content of the tables."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from model.choices import FailureStrategy, Priority
from model.ids import CommandId, TaskCode, WorkflowCode, WorkflowInstanceId
from model.runs.states import TaskState, WaitReason, WorkflowState
from model.time.intervals import Interval

APART = "apart"
BY_EVENT = "event"
"""The ending of the text for a task that does not wait."""


@dataclass(frozen=True, slots=True)
class Parent:
    """The task attempt that represents a sub-workflow, and the index (from 0) of this child.

    Unless it `waits`, the run is no child of it: the attempt is over once the run has begun.
    """

    instance: WorkflowInstanceId
    code: TaskCode
    attempt: int
    index: int
    waits: bool = True

    @property
    def place(self) -> str:
        """The attempt and child as text."""
        return f"{self.instance}/{self.code}/{self.attempt}/{self.index}"

    def __str__(self) -> str:
        return self.place if self.waits else f"{self.place}/{APART}"


@dataclass(frozen=True, slots=True)
class Source:
    """The event that starts a run: the end of an attempt that updates datasets, or of a run (`code` and `attempt` are
    0). `chain` counts the runs that triggered one another, including this one."""

    instance: WorkflowInstanceId
    code: TaskCode
    attempt: int
    chain: int

    def place(self, command: CommandId) -> str:
        """What its run stores of it. Each command of the event makes one run."""
        return f"{self.instance}/{self.code}/{self.attempt}/e{self.chain}.{command}"


@dataclass(frozen=True, slots=True)
class WorkflowInstance:
    """One run of one version of a workflow, as its owner knows it.

    `params` is a JSON object as text: project, global and startup parameters, resolved; `startup_names` is a JSON list
    of those that nothing overrides. `schedule_time` is aware UTC. `scope` limits it to some tasks; None = all.
    `interval` is that of its schedule, if any. During cleanup, `ending_as` and `ending_reason` say how it then ends
    (`model/runs/closing.py`).
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
    """Seconds since it began, or since a command last resumed it, when its row was read."""
    interval: Interval | None = None
    ending_as: WorkflowState | None = None
    ending_reason: str = ""


class TaskAttempt(NamedTuple):
    """An attempt of a task: as its master begins it, or the latest one in the database.

    QUEUED is for the workers, DELAY_EXECUTION for later; RUNNING_EXECUTION with children or dependencies runs in its
    master; a final one is over at once. Without `valid`, only its number (from 1) counts: the task must run again.
    `outputs` is a JSON object as text or None, `reason` a sentence, `branch` the chosen tasks of a type that branches.
    `values` is a JSON object, the value of each `${name}`; read from a row only for tasks in a master and for elements.
    `json_names` are the JSON values of a task that keeps JSON; never read from rows. `due_in_minutes` is the rest of a
    timed wait, by the database's clock; 0 = none. `ran_s` is the duration of a stream's ended attempt.
    """

    code: TaskCode
    attempt: int
    state: TaskState
    retries: int = 0
    valid: bool = True
    outputs: str | None = None
    branch: frozenset[TaskCode] | None = None
    values: str = "{}"
    due_in_minutes: float = 0
    wait_reason: WaitReason | None = None
    reason: str = ""
    ran_s: float = 0
    json_names: tuple[str, ...] = ()


class AttemptEnd(NamedTuple):
    """How an attempt ended. `outputs` is a JSON object as text or None; `reason` is a sentence; `ran_s` is the duration
    of a stream. After `is_suspect` no retry follows by itself: the task may have killed its workers."""

    code: TaskCode
    attempt: int
    state: TaskState
    outputs: str | None = None
    reason: str = ""
    ran_s: float = 0
    is_suspect: bool = False


@dataclass(frozen=True, slots=True)
class ChildState:
    """A child of an attempt: its state, and its outputs as a JSON object, or why it did not succeed, as a sentence."""

    code: TaskCode
    attempt: int
    index: int
    state: WorkflowState
    outputs: str | None = None


@dataclass(frozen=True, slots=True)
class HaltRequest:
    """A pause (READY_PAUSE) or a stop (READY_STOP) of a run was requested."""

    state: WorkflowState
