"""The states of workflow and task instances, and the allowed transitions between them.

This is the only list. The runnables assert it; the triggers in `sql/schema.sql` (`dao/postgres/schema.py`) and the
diagrams of `docs/reference/states.md` are generated from it. `model/runs/command_moves.py` lists how commands change
the state of a run; all its moves are in this list. The states are those of Apache DolphinScheduler, and SKIPPED.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum


class WorkflowState(StrEnum):
    """The state of a workflow instance."""

    SERIAL_WAIT = "SERIAL_WAIT"
    RUNNING_EXECUTION = "RUNNING_EXECUTION"
    READY_PAUSE = "READY_PAUSE"
    READY_STOP = "READY_STOP"
    FAILOVER = "FAILOVER"
    SUCCESS = "SUCCESS"
    FAILURE = "FAILURE"
    PAUSE = "PAUSE"
    STOP = "STOP"

    @property
    def is_final(self) -> bool:
        """Whether the state is final until a command changes it."""
        return self in _FINAL_WORKFLOW

    @property
    def is_driven(self) -> bool:
        return self in _DRIVEN


class TaskState(StrEnum):
    """The state of one attempt of a task."""

    DELAY_EXECUTION = "DELAY_EXECUTION"
    QUEUED = "QUEUED"
    DISPATCH = "DISPATCH"
    RUNNING_EXECUTION = "RUNNING_EXECUTION"
    SUCCESS = "SUCCESS"
    FAILURE = "FAILURE"
    KILL = "KILL"
    PAUSE = "PAUSE"
    NEED_FAULT_TOLERANCE = "NEED_FAULT_TOLERANCE"
    SKIPPED = "SKIPPED"
    FORCED_SUCCESS = "FORCED_SUCCESS"

    @property
    def is_final(self) -> bool:
        return self in _FINAL_TASK


W, T = WorkflowState, TaskState

_FINAL_WORKFLOW = frozenset({W.SUCCESS, W.FAILURE, W.PAUSE, W.STOP})
_DRIVEN = frozenset({W.RUNNING_EXECUTION, W.READY_PAUSE, W.READY_STOP})
_FINAL_TASK = frozenset({T.SUCCESS, T.FAILURE, T.KILL, T.PAUSE, T.NEED_FAULT_TOLERANCE, T.SKIPPED, T.FORCED_SUCCESS})


class WaitReason(StrEnum):
    """Why an attempt in DELAY_EXECUTION is not queued yet; the row has the time."""

    DELAY = "DELAY"
    """The task's `delay_time` after it became ready."""
    RETRY = "RETRY"
    """The task's `retry_interval` after the previous failure."""
    LOOK = "LOOK"
    """A WAIT task found nothing yet; it looks again."""


class NotBegun(StrEnum):
    """Why a task has no attempt."""

    WAITING = "WAITING"
    """The run has not reached it yet."""
    NOT_BEGUN = "NOT_BEGUN"
    """The run ended before it."""
    SKIPPED = "SKIPPED"
    """It is only on branches that were not chosen, or its start rule was not met. A task that begins and skips itself
    has an attempt in that state instead."""
    FORBIDDEN = "FORBIDDEN"
    """Its definition has `flag: NO`."""
    LEFT_OUT = "LEFT_OUT"
    """The run was started, or run again, for other tasks only."""


# A final instance leaves its state only through a command that resumes, repeats or executes it.
_AGAIN = frozenset({W.RUNNING_EXECUTION})

WORKFLOW_TRANSITIONS: Mapping[WorkflowState, frozenset[WorkflowState]] = {
    W.SERIAL_WAIT: frozenset({W.RUNNING_EXECUTION, W.PAUSE, W.STOP}),
    W.RUNNING_EXECUTION: frozenset({W.READY_PAUSE, W.READY_STOP, W.FAILOVER, W.SUCCESS, W.FAILURE}),
    W.READY_PAUSE: frozenset({W.READY_STOP, W.FAILOVER, W.PAUSE, W.SUCCESS, W.FAILURE}),
    W.READY_STOP: frozenset({W.FAILOVER, W.STOP, W.SUCCESS, W.FAILURE}),
    W.FAILOVER: frozenset({W.RUNNING_EXECUTION, W.READY_PAUSE, W.READY_STOP, W.FAILURE}),
    W.SUCCESS: _AGAIN,
    # SERIAL_WAIT: of a child that its parent resumes while another run of its line is before it.
    W.FAILURE: _AGAIN | {W.SERIAL_WAIT},
    W.PAUSE: _AGAIN | {W.SERIAL_WAIT},
    W.STOP: _AGAIN | {W.SERIAL_WAIT},
}


def is_legal(
    before: WorkflowState, after: WorkflowState, was_ending: WorkflowState | None, is_ending: WorkflowState | None
) -> bool:
    """Whether a run may go from one state to another; `was_ending` and `is_ending` are `ending_as` before and after.

    A halted run that cleans up runs again, and then ends as it would have ended.
    """
    if before is after or after in WORKFLOW_TRANSITIONS[before]:
        return True
    if was_ending is None:
        return is_ending is not None and before in (W.READY_PAUSE, W.READY_STOP) and after is W.RUNNING_EXECUTION
    return was_ending is after is W.STOP and before in (W.RUNNING_EXECUTION, W.READY_PAUSE)


# The states that a person may change to a success.
_FORCED = frozenset({T.FORCED_SUCCESS})

TASK_TRANSITIONS: Mapping[TaskState, frozenset[TaskState]] = {
    T.DELAY_EXECUTION: frozenset({T.QUEUED, T.KILL, T.PAUSE}),
    # Straight to RUNNING_EXECUTION: the claim itself is the record, written before the process exists.
    # FAILURE: no worker took it within its `dispatch_timeout`.
    T.QUEUED: frozenset({T.DISPATCH, T.RUNNING_EXECUTION, T.FAILURE, T.KILL, T.PAUSE}),
    # PAUSE: its worker gives it back, or is lost, while its run is paused.
    T.DISPATCH: frozenset({T.RUNNING_EXECUTION, T.QUEUED, T.FAILURE, T.KILL, T.PAUSE, T.NEED_FAULT_TOLERANCE}),
    # PAUSE: of a task that represents another workflow, which was paused. DELAY_EXECUTION: a WAIT task looked in vain.
    T.RUNNING_EXECUTION: frozenset(
        {T.SUCCESS, T.FAILURE, T.KILL, T.PAUSE, T.NEED_FAULT_TOLERANCE, T.SKIPPED, T.DELAY_EXECUTION}
    ),
    T.SUCCESS: frozenset(),
    T.FAILURE: _FORCED,
    T.KILL: _FORCED,
    T.PAUSE: frozenset(),
    T.NEED_FAULT_TOLERANCE: _FORCED,
    T.SKIPPED: frozenset(),
    T.FORCED_SUCCESS: frozenset(),
}
