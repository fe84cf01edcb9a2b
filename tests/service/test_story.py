"""The order of the events of a run."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

from model.runs.states import TaskState, WorkflowState
from service.runs.story import story

BEGUN = datetime(2026, 1, 31, 5, tzinfo=UTC)


def test_a_task_is_queued_before_it_begins_though_its_row_is_written_later() -> None:
    in_master = {"code": 1, "attempt": 1, "worker": None, "reason": None, "state": TaskState.SUCCESS}
    written = BEGUN + timedelta(microseconds=300)
    at_once = SimpleNamespace(id=7, name="at_once", queued_at=written, started_at=BEGUN, ended_at=BEGUN, **in_master)
    run: Any = SimpleNamespace(state=WorkflowState.RUNNING_EXECUTION, started_at=BEGUN - timedelta(seconds=1))
    attempts: Any = [at_once]
    told = [event.kind for event in story(run, [], attempts, [], {})]
    assert told == ["STARTED", "TASK_QUEUED", "TASK_STARTED", "TASK_ENDED"]
