"""The result of an attempt that an error ended."""

from __future__ import annotations

import errno

from model.cluster.means import is_passing
from model.errors import Fenced, ShoalError
from model.runs.states import TaskState
from worker.launcher.errors import NoMeans
from worker.tasks.plugin import TaskResult

DISK_FULL = (errno.ENOSPC, errno.EDQUOT)


class TookTooLong(ShoalError):
    """The attempt ran longer than its timeout."""


def lacks_means(error: BaseException) -> bool:
    """Whether the worker's machine lacked a resource, such as descriptors, memory or disk space."""
    return is_passing(error) or isinstance(error, NoMeans)


def result_of(error: Exception, *, may_begin_again: bool = False) -> TaskResult:
    """The result of an attempt that raised. `may_begin_again`: nothing has begun, so a missing resource only delays it.

    Fenced: it ran past the horizon, so others may have started it again already. If not, it must run again.
    """
    if isinstance(error, Fenced):
        return TaskResult(TaskState.NEED_FAULT_TOLERANCE, str(error))
    if may_begin_again and lacks_means(error):  # its master queues it again, or pauses it if its run is halted
        return TaskResult(TaskState.PAUSE, f"its worker could not begin it, and gave it back: {_reason(error)}")
    return TaskResult.failure(_reason(error))


def _reason(error: Exception) -> str:
    if isinstance(error, OSError) and error.errno in DISK_FULL:
        return f"the disk of its worker is full ({error.strerror}); make room in the worker's folder"
    return str(error) if isinstance(error, ShoalError | OSError) else f"{type(error).__name__}: {error}"
