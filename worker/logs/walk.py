"""Finds the logs on a worker's disk, a part at a time: some may not be in the log store yet.

These are logs that could not be copied before a process ended, or did not fit into memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path

from model.ids import TaskInstanceId, WorkflowCode, WorkflowInstanceId
from model.logs.name import LogName
from worker.logs.disk_deletion import folders_in, logs_in

BATCH = 500


class LeftLogs:
    """A walk over the logs below `root`, newest day first. It blocks on the disk: for threads, one at a time."""

    def __init__(self, root: Path) -> None:
        self._names = _names(root)

    def more(self) -> list[LogName]:
        """The next 500 at most; empty after the last."""
        return list(islice(self._names, BATCH))


def _names(root: Path) -> Iterator[LogName]:
    for day in sorted((name for name in folders_in(root) if len(name) == 8), reverse=True):
        for workflow in folders_in(root / day):
            for run in folders_in(root / day / workflow):
                for id_, _ in logs_in(root / day / workflow / run):
                    with suppress(ValueError):
                        yield LogName(
                            day, WorkflowCode(int(workflow)), WorkflowInstanceId(int(run)), TaskInstanceId(id_)
                        )
