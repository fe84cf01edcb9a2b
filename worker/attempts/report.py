"""Makes the report of an attempt's end acceptable to the database, whatever the task printed."""

from __future__ import annotations

import json
from dataclasses import asdict

from dao.tasks.task_claims import ClaimedTask, Report
from model.ids import TaskInstanceId
from model.runs.states import TaskState
from worker.tasks.plugin import TaskResult

REASON_LENGTH_MAX = 2_000


def report(task: ClaimedTask, result: TaskResult) -> Report:
    """The report of a claimed attempt; the result is already masked."""
    return report_of(task.id, task.attempt, result)


def report_of(id_: TaskInstanceId, attempt: int, result: TaskResult) -> Report:
    """The report of any attempt."""
    outputs, alert = result.outputs, result.alert if result.state is TaskState.SUCCESS else None
    return Report(
        id_,
        attempt,
        result.state,
        _storable(result.reason)[:REASON_LENGTH_MAX],
        result.exit_code,
        _storable(json.dumps(outputs, ensure_ascii=False)) if outputs else None,
        json.dumps(asdict(alert.changed(_storable)))
        if alert is not None and result.state is TaskState.SUCCESS
        else None,
        result.again,
    )


def _storable(text: str) -> str:
    return text.replace("\x00", "\\0").encode("utf-8", "replace").decode("utf-8")
