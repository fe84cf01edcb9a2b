"""The logs of streams: those of the last attempts stay, and the record of them does not grow forever."""

from __future__ import annotations

from pathlib import Path

from dao.tasks.task_claims import ClaimedTask
from model.ids import TaskInstanceId, WorkflowInstanceId
from model.streams.streams import ATTEMPTS_KEPT
from tests.worker.errand import claimed
from worker.logs.stream_logs import STREAMS_MAX, StreamLogs
from worker.results.recorded_ends import log_name


def _log(root: Path, task: ClaimedTask) -> Path:
    name = log_name(task)
    file = root.joinpath(*name.folders, name.file)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("said")
    return file


async def test_the_logs_of_the_last_attempts_stay(tmp_path: Path) -> None:
    logs, made = StreamLogs(), []
    for number in range(ATTEMPTS_KEPT + 2):
        task = claimed(params={})._replace(id=TaskInstanceId(number + 1), attempt=number + 1)
        made.append(_log(tmp_path, task))
        await logs.ended(task, tmp_path)
    assert [file.exists() for file in made] == [False] * 2 + [True] * ATTEMPTS_KEPT


async def test_of_the_streams_of_ended_runs_nothing_is_kept_in_memory_for_ever(tmp_path: Path) -> None:
    logs = StreamLogs()
    for run in range(STREAMS_MAX + 10):
        await logs.ended(claimed(params={})._replace(workflow_instance_id=WorkflowInstanceId(run + 1)), tmp_path)
    assert len(logs._logs) == STREAMS_MAX
