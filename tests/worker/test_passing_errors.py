"""A temporary shortage is no verdict: what cannot be opened now is not called missing."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import cast

import pytest

from dao.postgres.pool import AsyncConnection
from dao.runs.dependencies import WaitingTask
from dao.runs.dependent_verdicts import evaluate_all
from model.errors import Unavailable
from model.ids import TaskInstanceId, WorkflowCode, WorkflowInstanceId
from model.logic.dependent import Outcome
from model.logs.name import LogName
from node.left_tasks import end_what_is_left
from tests.no_descriptors import no_descriptors
from tests.zones import empty_cache
from worker.attempts.tenants import account_of
from worker.folder import WorkerFolder
from worker.launcher.leftovers import kill_marked
from worker.logs.task_log import LogFile, read_log

NAME = LogName("20220826", WorkflowCode(1001), WorkflowInstanceId(8), TaskInstanceId(5))
DEPENDS = '{"groups": [{"items": [{"workflow": 1, "cycle": "today"}]}]}'


def test_a_tenant_that_cannot_be_looked_up_now_is_not_said_to_be_missing() -> None:
    """Not "nobody": systemd's part of the C library makes that user up without a file, once it is loaded."""
    with no_descriptors(), pytest.raises(OSError, match="Too many open files"):
        account_of("daemon", ["*"])


def test_a_log_that_cannot_be_opened_now_is_not_said_to_be_missing(tmp_path: Path) -> None:
    log = LogFile(tmp_path, NAME, bytes_max=1_000)
    log.write("hello\n")
    log.close()
    with no_descriptors(), pytest.raises(Unavailable, match="Too many open files"):
        read_log(tmp_path, NAME, 0, 100)


def test_a_key_of_logs_that_cannot_be_read_now_is_not_replaced(tmp_path: Path) -> None:
    folder = WorkerFolder(tmp_path)
    key = folder.log_key()
    with no_descriptors(), pytest.raises(Unavailable, match="Too many open files"):
        folder.log_key()
    assert folder.log_key() == key


@pytest.mark.parametrize("look", [end_what_is_left, kill_marked])
def test_processes_that_cannot_be_seen_now_are_not_said_to_be_gone(
    look: Callable[[str, float], int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last descriptor goes after they were listed."""
    monkeypatch.setattr("node.left_tasks._pids", lambda: [1])
    monkeypatch.setattr("worker.launcher.tree.processes", lambda: iter([1]))
    with no_descriptors(), pytest.raises(OSError, match="Too many open files"):
        look("SHOAL_TEST_LIFE=nobody", 0.2)


async def test_a_zone_that_cannot_be_read_now_lets_a_dependent_task_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("model.time.zones._loaded", {})
    empty_cache(monkeypatch)
    task = WaitingTask(
        TaskInstanceId(1), DEPENDS, "p", datetime(2022, 8, 26, tzinfo=UTC), "Asia/Tbilisi", 1, None, None
    )
    nowhere = cast(AsyncConnection, None)
    with no_descriptors():
        ((verdict, _),) = (await evaluate_all(nowhere, [task])).values()
    assert verdict.outcome is Outcome.WAIT
    assert "Too many open files" in verdict.sentence
    assert verdict.again_in_minutes is not None
