"""The states of workflow and task instances, and the only ways from one to another.

This list exists once: the runnables assert it, the triggers in `sql/schema.sql` are made from it
(`dao/schema.py`), and `docs/states.md` is drawn from it. Source: semantics of Apache DolphinScheduler's states.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum


class WorkflowState(StrEnum):
    """Where a workflow instance stands."""

    RUNNING_EXECUTION = "RUNNING_EXECUTION"
    FAILOVER = "FAILOVER"
    SUCCESS = "SUCCESS"
    FAILURE = "FAILURE"

    @property
    def is_final(self) -> bool:
        """Whether nothing happens any more unless a command asks for it."""
        return self in _FINAL_WORKFLOW


class TaskState(StrEnum):
    """Where one attempt of a task stands."""

    DELAY_EXECUTION = "DELAY_EXECUTION"
    QUEUED = "QUEUED"
    DISPATCH = "DISPATCH"
    RUNNING_EXECUTION = "RUNNING_EXECUTION"
    SUCCESS = "SUCCESS"
    FAILURE = "FAILURE"
    KILL = "KILL"
    NEED_FAULT_TOLERANCE = "NEED_FAULT_TOLERANCE"

    @property
    def is_final(self) -> bool:
        """Whether this attempt is over."""
        return self in _FINAL_TASK


_FINAL_WORKFLOW = frozenset({WorkflowState.SUCCESS, WorkflowState.FAILURE})
_FINAL_TASK = frozenset({TaskState.SUCCESS, TaskState.FAILURE, TaskState.KILL, TaskState.NEED_FAULT_TOLERANCE})


class WaitReason(StrEnum):
    """Why an attempt in DELAY_EXECUTION is not queued yet; the row holds until when."""

    DELAY = "DELAY"
    """The task's `delay_time` after it became ready."""
    RETRY = "RETRY"
    """The task's `retry_interval` after the failure before."""


W, T = WorkflowState, TaskState

WORKFLOW_TRANSITIONS: Mapping[WorkflowState, frozenset[WorkflowState]] = {
    W.RUNNING_EXECUTION: frozenset({W.FAILOVER, W.SUCCESS, W.FAILURE}),
    W.FAILOVER: frozenset({W.RUNNING_EXECUTION, W.FAILURE}),
    W.SUCCESS: frozenset(),
    W.FAILURE: frozenset(),
}

TASK_TRANSITIONS: Mapping[TaskState, frozenset[TaskState]] = {
    T.DELAY_EXECUTION: frozenset({T.QUEUED, T.KILL}),
    # Straight to RUNNING_EXECUTION: the claim itself is the record, written before the process exists.
    T.QUEUED: frozenset({T.DISPATCH, T.RUNNING_EXECUTION, T.KILL}),
    T.DISPATCH: frozenset({T.RUNNING_EXECUTION, T.QUEUED, T.FAILURE, T.KILL, T.NEED_FAULT_TOLERANCE}),
    T.RUNNING_EXECUTION: frozenset({T.SUCCESS, T.FAILURE, T.KILL, T.NEED_FAULT_TOLERANCE}),
    T.SUCCESS: frozenset(),
    T.FAILURE: frozenset(),
    T.KILL: frozenset(),
    T.NEED_FAULT_TOLERANCE: frozenset(),
}
