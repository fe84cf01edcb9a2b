"""Runs and attempts as answers and live events show them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from model.choices import ExecutionType, Priority
from model.ids import CommandId, Epoch, TaskCode, TaskInstanceId, WorkflowCode, WorkflowInstanceId
from model.runs.looks import Looks
from model.runs.progress import Progress
from model.runs.states import TaskState, WaitReason, WorkflowState


@dataclass(frozen=True)
class Run:
    """A run in a list, as its answer shows it (`service/runs/answers.py`), and what decides who may see what of it.

    `master` is the name of its master, or its address if it has none. `scope` limits it to some tasks, None does not.
    `parent_code` is the task of the run above, which is of a workflow of `parent_project`; `started_by_project` is that
    of the run which started it.
    """

    id: WorkflowInstanceId
    workflow_code: WorkflowCode
    workflow: str | None
    project: str | None
    version: int
    state: WorkflowState
    priority: Priority
    started_at: datetime
    ended_at: datetime | None
    took_s: float
    elapsed_s: float
    reason: str | None
    master_id: Epoch
    master: str | None
    takeovers: int
    params: str
    schedule_time: datetime
    time_zone: str
    command_type: str
    execution_type: ExecutionType
    run_times: int
    requested_state: WorkflowState | None
    scope: frozenset[TaskCode] | None
    parent_id: WorkflowInstanceId | None
    parent_code: TaskCode | None
    parent_project: str | None
    parent_task: str | None
    dates_left: int | None
    serial_key: str | None
    interval_start: datetime | None
    interval_end: datetime | None
    ending_as: WorkflowState | None
    started_by_id: WorkflowInstanceId | None
    started_by_task: str | None
    started_by_project: str | None


@dataclass(frozen=True)
class TaskRun:
    """One attempt of a task of a run.

    `due_in_s` is the rest of a wait for `wait_reason`, in seconds (<= 0: it is over). `log_day` (yyyyMMdd, UTC) and
    `log_url` locate its log: the folder of that day in that worker's log service. One that is not `valid` belongs to an
    earlier execution of the same run, or its task is to run again. `branch` is the branch that a task selected.
    `progress` is what the task itself reported last, written at `progress_at`. `is_ready` is what the readiness probe
    of a stream found, None without one. `looks` is what a task that waits has found so far.
    """

    id: TaskInstanceId
    code: TaskCode
    attempt: int
    name: str
    type: str
    state: TaskState
    kill_requested: bool
    worker_group: str
    priority: Priority
    worker: Epoch | None
    worker_address: str | None
    log_url: str | None
    log_day: str
    queued_at: datetime
    started_at: datetime | None
    ended_at: datetime | None
    took_s: float | None
    exit_code: int | None
    reason: str | None
    outputs: str | None
    wait_reason: WaitReason | None
    due_in_s: float | None
    valid: bool
    branch: frozenset[TaskCode] | None
    retries: int
    progress: Progress | None
    progress_at: datetime | None
    is_stream: bool
    is_ready: bool | None
    looks: Looks | None


@dataclass(frozen=True)
class CommandFate:
    """The state of a command: waiting (`handled_at` is None), done, or refused (`reason`)."""

    id: CommandId
    type: str
    age_s: float | None
    handled_at: datetime | None
    run_id: WorkflowInstanceId | None
    master_id: Epoch | None
    slot: str | None
    reason: str | None


@dataclass(frozen=True)
class Elements:
    """How far a task is: of its `total` elements so many are `done` (succeeded or skipped), have failed, were killed,
    run on workers, or wait for one; the others have not begun. `first_failed` and `first_queued` are the indexes of
    the first that failed or wait."""

    total: int
    done: int
    failed: int
    killed: int
    running: int
    queued: int
    first_failed: int | None = None
    first_queued: int | None = None


@dataclass(frozen=True)
class OlderBelow:
    """A run below that goes on with its run above, and whose `version` is older than the newest of its workflow."""

    id: WorkflowInstanceId
    workflow: str
    version: int
    newest: int


@dataclass(frozen=True)
class LongRun:
    """A running run that is no child of another."""

    id: WorkflowInstanceId
    workflow_code: WorkflowCode
    workflow: str | None
    project: str | None
    started_at: datetime
    elapsed_s: float


@dataclass(frozen=True)
class FailedRun:
    """The newest failed run of a workflow that did not succeed since.

    `version` is that of the run, which it keeps when it is rerun. `times_this_week` is how many of the workflow's
    newest failed runs ended within the time. `task_id`, `task` are the first task of the run that failed; None if none
    did.
    """

    id: WorkflowInstanceId
    workflow_code: WorkflowCode
    workflow: str | None
    project: str | None
    version: int
    newest_version: int
    started_at: datetime
    ended_at: datetime
    reason: str | None
    times_this_week: int
    task_id: TaskInstanceId | None
    task: str | None
    task_reason: str | None


@dataclass(frozen=True)
class LastRun:
    """A run of a workflow; `elapsed_s` from its start to its end, or until now. None: its times are infinite."""

    code: WorkflowCode
    id: WorkflowInstanceId
    version: int
    state: WorkflowState
    started_at: datetime
    elapsed_s: float | None


@dataclass(frozen=True)
class Cell:
    """The valid attempt of a task in a run; `took_s` is None before its start."""

    run_id: WorkflowInstanceId
    id: TaskInstanceId
    task_code: TaskCode
    name: str
    attempt: int
    state: TaskState
    took_s: float | None


@dataclass(frozen=True)
class ChangedRun:
    """A run now. `project` and `workflow` are None if its definition was deleted."""

    id: int
    project: str | None
    workflow: str | None
    workflow_code: int
    workflow_version: int
    state: str
    requested_state: str | None
    ending_as: str | None
    started_at: datetime | None
    ended_at: datetime | None
    reason: str | None
    parent: int | None


@dataclass(frozen=True)
class ChangedAttempt:
    """An attempt now. `valid`: no other attempt took its place."""

    run: int
    id: int
    code: int
    name: str
    type: str
    attempt: int
    state: str
    worker: int | None
    queued_at: datetime | None
    started_at: datetime | None
    ended_at: datetime | None
    reason: str | None
    valid: bool


@dataclass(frozen=True)
class ChangedDefinition:
    """A workflow definition now."""

    code: int
    project: str
    name: str
    version: int
    release_state: str
    schedules: int
