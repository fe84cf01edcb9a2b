"""The logs of streams: a stream may restart forever, so only those of its last attempts stay.

In memory: what this process ran. `worker/logs/disk_deletion.py` deletes what a former process of this worker left.
"""

from __future__ import annotations

from collections import deque
from contextlib import suppress
from pathlib import Path

from dao.tasks.task_claims import ClaimedTask
from model.ids import TaskCode, WorkflowInstanceId
from model.streams.streams import ATTEMPTS_KEPT
from node.threads import in_thread
from worker.results.recorded_ends import log_name

STREAMS_MAX = 1_000
"""The most streams that are tracked; `worker/logs/disk_deletion.py` handles the others."""


class StreamLogs:
    """The logs of the attempts of each stream that this worker ran, oldest first."""

    def __init__(self) -> None:
        self._logs: dict[tuple[WorkflowInstanceId, TaskCode], deque[Path]] = {}

    async def ended(self, task: ClaimedTask, root: Path) -> None:
        """Record an ended attempt, and delete the logs that, like their rows, are no longer kept."""
        name = log_name(task)
        stream = (task.workflow_instance_id, task.code)
        logs = self._logs[stream] = self._logs.pop(stream, deque())
        if len(self._logs) > STREAMS_MAX:
            del self._logs[next(iter(self._logs))]  # the one of which no attempt has ended for longest
        logs.append(root.joinpath(*name.folders, name.file))
        while len(logs) > ATTEMPTS_KEPT:
            with suppress(OSError, RuntimeError):  # it stays until its run is deleted
                await in_thread(logs.popleft().unlink, missing_ok=True)
