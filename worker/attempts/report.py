"""The report of how an attempt ended, in a form that the database accepts whatever the task printed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict

from dao.tasks.task_claims import ClaimedTask, Report
from model.ids import TaskInstanceId
from model.runs.states import TaskState
from worker.tasks.plugin import ResultAlert

REASON_LENGTH_MAX = 2_000


def report(
    task: ClaimedTask,
    state: TaskState,
    reason: str,
    exit_code: int | None = None,
    outputs: Mapping[str, str] | None = None,
    alert: ResultAlert | None = None,
) -> Report:
    """The report of a claimed attempt; secrets in `reason` are masked already."""
    return report_of(task.id, task.attempt, state, reason, exit_code, outputs, alert)


def report_of(
    id_: TaskInstanceId,
    attempt: int,
    state: TaskState,
    reason: str,
    exit_code: int | None = None,
    outputs: Mapping[str, str] | None = None,
    alert: ResultAlert | None = None,
) -> Report:
    """The report of any attempt."""
    return Report(
        id_,
        attempt,
        state,
        _storable(reason)[:REASON_LENGTH_MAX],
        exit_code,
        _storable(json.dumps(outputs, ensure_ascii=False)) if outputs else None,
        json.dumps(asdict(alert.changed(_storable))) if alert is not None and state is TaskState.SUCCESS else None,
    )


def _storable(text: str) -> str:
    return text.replace("\x00", "\\0").encode("utf-8", "replace").decode("utf-8")
