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
"""Ends the text of one that does not wait."""


@dataclass(frozen=True, slots=True)
class Parent:
    """The task attempt that represents a sub-workflow, and the index (from 0) of this child among its children.

    If it does not wait (`waits`), the run is no child of it: the attempt is over once the run has begun.
    """

    instance: WorkflowInstanceId
    code: TaskCode
    attempt: int
    index: int
    waits: bool = True

    @property
    def place(self) -> str:
        """Which attempt and child."""
        return f"{self.instance}/{self.code}/{self.attempt}/{self.index}"

    def __str__(self) -> str:
        return self.place if self.waits else f"{self.place}/{APART}"


@dataclass(frozen=True, slots=True)
class Source:
    """The event that starts a run: the end of an attempt that updates datasets, or of an instance (`code` and `attempt`
    are 0). `chain` counts the runs that triggered one another, up to this one."""

    instance: WorkflowInstanceId
    code: TaskCode
    attempt: int
    chain: int

    def place(self, command: CommandId) -> str:
        """What its run knows of it. Each command of it makes one run."""
        return f"{self.instance}/{self.code}/{self.attempt}/e{self.chain}.{command}"


@dataclass(frozen=True, slots=True)
class WorkflowInstance:
    """One run of one version of a workflow, as its owner knows it.

    `params` is a JSON object as text: project, global and startup parameters, resolved; `startup_names` a JSON list of
    those that nothing overrides. `schedule_time` is aware UTC. `scope` limits it to some tasks; None = all. `interval`
    is that of its schedule, which it keeps; None = it has none. `ending_as` and `ending_reason` are of one that cleans
    up: how it then ends (`model/runs/closing.py`).
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
    interval: Interval | None = None
    ending_as: WorkflowState | None = None
    ending_reason: str = ""


class TaskAttempt(NamedTuple):
    """An attempt of a task: as its master begins it, or the latest one as its row says.

    QUEUED is for the workers, DELAY_EXECUTION for later; RUNNING_EXECUTION with children or dependencies is in its
    master; a final one is over at once. If it is not `valid`, only its number (from 1) is used: the task is to run
    again. `outputs` is a JSON object as text or None, `reason` a sentence, `branch` the tasks that it chose if its type
    chooses a branch. `values` is a JSON object: the value of each `${name}`; a row's only if it runs in its master, or
    is that of an element. `json_names` are those of values that are JSON, for a task that keeps it; not read from rows.
    `due_in_minutes` is what is left of a timed wait, by the database's time; 0 = it does not wait.
    `ran_s` is how long one of a stream ran that has ended.
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
    """How an attempt ended. `outputs` is a JSON object as text or None; `reason` is a sentence; `ran_s` is how long a
    stream ran. After one that `is_suspect` no other follows by itself: the task may be what its workers died of."""

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
