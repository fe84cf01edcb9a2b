"""The name of a task's log: a path of ids, the same on a worker's disk and in the log store.

<yyyyMMdd>/<workflow code>/<workflow instance>/<task instance>.log

A value that is too large for a row lies beside it in the log store, as <task instance>.<number>.value; one that a
master combined from many tasks as <SHA-256>.value. A file that a task hands on is <task instance>.<number>.file.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from model.errors import Refused
from model.ids import TaskInstanceId, WorkflowCode, WorkflowInstanceId

_KEY = re.compile(
    r"([0-9]{8})/([0-9]{1,18})/([0-9]{1,18})/"
    r"(?:([0-9]{1,18})(?:(?:\.[0-9]{1,18})?\.log|\.[0-9]{1,4}\.(?:value|file))|[0-9a-f]{64}\.value)",
    re.ASCII,
)
FILE_SUFFIX = ".file"
NO_ATTEMPT = TaskInstanceId(0)
"""Stands for the attempt of a value that belongs to its run alone."""


@dataclass(frozen=True)
class LogName:
    """The name of a log. `date` is the UTC day, as yyyyMMdd, on which its attempt was queued."""

    date: str
    workflow_code: WorkflowCode
    workflow_instance_id: WorkflowInstanceId
    task_instance_id: TaskInstanceId

    def __post_init__(self) -> None:
        if not (len(self.date) == 8 and self.date.isascii() and self.date.isdecimal()):
            raise Refused(f'"{self.date}" is not the date of a log; it has the form 20260131')

    @property
    def folders(self) -> tuple[str, str, str]:
        return (self.date, f"{self.workflow_code:d}", f"{self.workflow_instance_id:d}")

    @property
    def file(self) -> str:
        """The name of the file, the last part of the path."""
        return f"{self.task_instance_id:d}.log"

    def key(self, first: int = 0) -> str:
        """The name of its copy in the log store, which lacks the discarded bytes before `first`."""
        last = self.file if first == 0 else f"{self.task_instance_id:d}.{first:d}.log"
        return "/".join((*self.folders, last))

    def value_key(self, number: int) -> str:
        """The name of a value of its attempt in the log store."""
        return "/".join((*self.folders, f"{self.task_instance_id:d}.{number:d}.value"))

    def file_key(self, number: int) -> str:
        """The name of a file that its attempt hands on, in the log store."""
        return "/".join((*self.folders, f"{self.task_instance_id:d}.{number:d}{FILE_SUFFIX}"))


def value_of_run(date: str, code: WorkflowCode, run: WorkflowInstanceId, digest: str) -> str:
    """The name of a value in the log store that belongs to no attempt alone."""
    return "/".join((*LogName(date, code, run, NO_ATTEMPT).folders, f"{digest}.value"))


def name_of(key: str) -> LogName | None:
    """Parse the key of a copy, value or file in the log store; the attempt is `NO_ATTEMPT` for a value of a run. None
    for any other text."""
    found = _KEY.fullmatch(key)
    if found is None:
        return None
    date, code, run, task = found.groups()
    id_ = NO_ATTEMPT if task is None else TaskInstanceId(int(task))
    return LogName(date, WorkflowCode(int(code)), WorkflowInstanceId(int(run)), id_)
