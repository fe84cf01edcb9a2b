"""The content of a task's environment."""

from __future__ import annotations

from model.ids import Epoch, TaskCode, TaskInstanceId, WorkflowInstanceId
from tests.worker.errand import claimed
from worker.attempts.environment import task_environment


def environment(own: dict[str, str]) -> dict[str, str]:
    task = claimed(
        params={}, id=TaskInstanceId(33), workflow_instance_id=WorkflowInstanceId(11), code=TaskCode(22), attempt=2
    )
    return task_environment(own, task, Epoch(44))


def test_nothing_of_the_worker_but_what_is_listed_gets_through() -> None:
    own = {
        "PATH": "/bin",
        "LC_ALL": "C",
        "HOME": "/h",
        "SHOAL_DATABASE": "secret",
        "SHOAL_FENCE": "99",
        "PGPASSWORD": "x",
        "LD_PRELOAD": "y",
    }
    assert environment(own) == {
        "PATH": "/bin",
        "LC_ALL": "C",
        "HOME": "/h",
        "SHOAL_TASK_KEY": "11.22",
        "SHOAL_ATTEMPT": "2",
        "SHOAL_FENCE": "44",
        "SHOAL_TASK_INSTANCE": "33",
        "SHOAL_WORKFLOW_INSTANCE": "11",
    }


def test_there_is_always_a_path() -> None:
    assert environment({})["PATH"]
