"""What a plug-in needs to define a task type, and all of Shoal that it may import: see docs/guides/plugins.md.

Other modules of Shoal may change, move or vanish with any version, and have other names in an installed wheel.
"""

from __future__ import annotations

from model.choices import ParameterType
from model.errors import Fenced, Refused, ShoalError, Unavailable
from model.runs.states import TaskState
from worker.tasks.inserted import arguments, as_written, mark, only_plain, plain, plain_all, put_in
from worker.tasks.plugin import ProcessRunner, Task, TaskContext, TaskLog, TaskParams, TaskResult
from worker.tasks.process import run_process

__all__ = [
    "Fenced",
    "ParameterType",
    "ProcessRunner",
    "Refused",
    "ShoalError",
    "Task",
    "TaskContext",
    "TaskLog",
    "TaskParams",
    "TaskResult",
    "TaskState",
    "Unavailable",
    "arguments",
    "as_written",
    "mark",
    "only_plain",
    "plain",
    "plain_all",
    "put_in",
    "run_process",
]
