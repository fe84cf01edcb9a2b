"""Runs and attempts as answers and live events show them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from model.ids import TaskCode, TaskInstanceId, WorkflowCode, WorkflowInstanceId
from model.runs.states import TaskState, WorkflowState


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
