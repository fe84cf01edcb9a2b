"""Actions on many runs at once, and the command of each."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from model.runs.command_moves import CommandType


class BulkAction(StrEnum):
    """What is done with each of many runs."""

    RERUN = "RERUN"
    RERUN_FAILED = "RERUN_FAILED"
    PAUSE = "PAUSE"
    STOP = "STOP"
    RESUME = "RESUME"


COMMAND_OF: Mapping[BulkAction, CommandType] = {
    BulkAction.RERUN: CommandType.REPEAT_RUNNING,
    BulkAction.RERUN_FAILED: CommandType.START_FAILURE_TASK_PROCESS,
    BulkAction.PAUSE: CommandType.PAUSE,
    BulkAction.STOP: CommandType.STOP,
    BulkAction.RESUME: CommandType.RECOVER_SUSPENDED_PROCESS,
}
