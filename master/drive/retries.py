"""Whether another attempt follows one that has ended, and after how long. Pure."""

from __future__ import annotations

from zlib import crc32

from model.choices import OnWorkerLoss
from model.definitions.plan import PlannedTask
from model.ids import TaskCode, WorkflowInstanceId
from model.runs.states import TaskState


def is_repeated(task: PlannedTask, state: TaskState, used: int, *, dry_run: bool) -> bool:
    """Whether another attempt follows this end: after a loss, or after a failure with retries left beyond `used`; for a
    stream as its rule says."""
    if task.stream is not None:
        return task.stream.starts_again(state) and not dry_run
    if state is TaskState.NEED_FAULT_TOLERANCE:
        return task.on_worker_loss is OnWorkerLoss.RETRY
    return state is TaskState.FAILURE and used < task.retry_times


def used_before(task: PlannedTask, used: int, ran_s: float) -> int:
    """The retries used before an attempt that ran for `ran_s` ended or was lost; a long run of a stream resets them."""
    return used if task.stream is None else task.stream.failures_before(used, ran_s)


def repeated(
    task: PlannedTask, state: TaskState, used: int, ran_s: float, attempt: tuple[WorkflowInstanceId, TaskCode, int]
) -> tuple[int, float]:
    """The retries used so far, and the minutes until the next attempt, which is `attempt`."""
    if state is TaskState.NEED_FAULT_TOLERANCE:
        return used_before(task, used, ran_s), 0
    if task.stream is None:
        return used + 1, task.retry_interval
    failures = task.stream.failures_after(used, ran_s)
    # Different for streams that end together, and the same on every master.
    share = crc32("/".join(map(str, attempt)).encode()) / 2**32
    return failures, task.stream.pause_after(failures, share) / 60
